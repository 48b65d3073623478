// The user's settings of pip, said in uv's words: uv reads none of them itself. A setting that the user has
// made for uv is left as it is.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace slipway::environments {

// Variables that uv is to be given besides `variables`, those of the agent: from PIP_* there, and from pip's
// configuration files.
std::map<std::string, std::string> settings_for_uv(const std::map<std::string, std::string>& variables);

// The settings of one configuration file ("index-url" -> value), of its sections global, install and
// download. Values of several lines are joined by blanks. What cannot be read is passed over, as pip's users
// expect of a file that is not Slipway's.
std::map<std::string, std::string> parse_pip_configuration(std::string_view text);

}  // namespace slipway::environments
