// A requirements file becomes the requirement lines of a definition. Pure but for the reader it is given.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace slipway::environments {

// The content of another file of the same folder, named by a clean relative path. Whoever calls decides what
// the folder is; nothing outside it is ever asked for.
using ReadIncluded = std::function<Result<std::string>(const std::string& path)>;

// Refuses every included file: for text that came without a folder.
Result<std::string> nothing_to_include(const std::string& path);
// Reads below `folder`, without following links.
ReadIncluded includes_below(std::filesystem::path folder);

// Takes comments, continued lines and "-r FILE" within the folder. The answer holds each requirement and each
// option of the resolver in one line of canonical form, in the file's order. Errors begin with the place:
// "requirements.txt:3: ..."; kInvalidArgument for a local path, a file outside the folder, an editable
// install, an unknown option or a line that is none of these.
Result<std::vector<std::string>> read_requirements(std::string_view text, const std::string& file_name,
                                                   const ReadIncluded& include);

// One entry of a list of requirements, as it stands in a conda file's pip section or on the command line.
Result<std::vector<std::string>> read_requirement_line(std::string_view line, const std::string& file_name,
                                                       const ReadIncluded& include);

}  // namespace slipway::environments
