#include "environments/build/pip_settings.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "environments/line_text.h"

namespace slipway::environments {
namespace fs = std::filesystem;
namespace {

struct Setting {
  const char* pip;  // as in the file; the variable is PIP_ and the same in capitals
  const char* uv;
};
constexpr Setting kSettings[] = {{"index-url", "UV_DEFAULT_INDEX"},
                                 {"extra-index-url", "UV_INDEX"},
                                 {"find-links", "UV_FIND_LINKS"},
                                 {"cert", "SSL_CERT_FILE"},
                                 {"trusted-host", "UV_INSECURE_HOST"}};

std::string variable_of(std::string_view setting) {
  std::string name = "PIP_";
  for (const char c : setting)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string value_of(const std::map<std::string, std::string>& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

// Later ones win over earlier ones, as in pip.
std::map<std::string, std::string> configured(const std::map<std::string, std::string>& variables) {
  std::vector<fs::path> files{"/etc/pip.conf"};
  const fs::path user = value_of(variables, "HOME");
  const std::string config = value_of(variables, "XDG_CONFIG_HOME");
  if (!user.empty()) files.push_back(user / ".pip/pip.conf");
  if (!user.empty() || !config.empty())
    files.push_back((config.empty() ? user / ".config" : fs::path(config)) / "pip/pip.conf");
  if (const std::string named = value_of(variables, "PIP_CONFIG_FILE"); !named.empty())
    files.emplace_back(named);
  std::map<std::string, std::string> settings;
  for (const fs::path& file : files) {
    const auto text = read_file(file, 1 << 20);
    if (!text) continue;
    for (auto& [name, value] : parse_pip_configuration(*text)) settings[name] = std::move(value);
  }
  return settings;
}

// A folder that is not there is nothing to pip and an error to uv.
std::string only_existing(const std::string& places) {
  std::string kept;
  for (const std::string_view place : pieces_of(places, ' ')) {
    std::error_code error;
    if (place.empty() || (place.starts_with('/') && !fs::exists(place, error))) continue;
    kept += (kept.empty() ? "" : " ") + std::string(place);
  }
  return kept;
}

}  // namespace

std::map<std::string, std::string> parse_pip_configuration(std::string_view text) {
  std::map<std::string, std::string> settings;
  bool ours = false;
  std::string* last = nullptr;
  for (const std::string_view line : pieces_of(text, '\n')) {
    const bool goes_on = line.data() > text.data() && (line.data()[-1] == ' ' || line.data()[-1] == '\t');
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      ours = line == "[global]" || line == "[install]" || line == "[download]";
      last = nullptr;
      continue;
    }
    const size_t equals = line.find_first_of("=:");
    if (goes_on && last != nullptr) {
      *last += (last->empty() ? "" : " ") + std::string(line);
    } else if (ours && equals != std::string_view::npos) {
      std::string name(trimmed(line.substr(0, equals)));
      std::ranges::replace(name, '_', '-');
      last = &settings[name];
      *last = trimmed(line.substr(equals + 1));
    }
  }
  return settings;
}

std::map<std::string, std::string> settings_for_uv(const std::map<std::string, std::string>& variables) {
  const std::map<std::string, std::string> files = configured(variables);
  std::map<std::string, std::string> answer;
  for (const Setting& setting : kSettings) {
    std::string value = value_of(variables, variable_of(setting.pip));
    if (value.empty()) value = value_of(files, setting.pip);
    if (std::string_view(setting.pip) == "find-links") value = only_existing(value);
    if (!value.empty() && !variables.contains(setting.uv)) answer[setting.uv] = value;
  }
  // uv takes an index from its own file too, which a variable would overrule.
  std::error_code error;
  const fs::path user = value_of(variables, "HOME");
  const std::string config = value_of(variables, "XDG_CONFIG_HOME");
  const fs::path own = (config.empty() ? user / ".config" : fs::path(config)) / "uv/uv.toml";
  if (fs::exists(own, error) || variables.contains("UV_CONFIG_FILE")) {
    answer.erase("UV_DEFAULT_INDEX");
    answer.erase("UV_INDEX");
  }
  return answer;
}

}  // namespace slipway::environments
