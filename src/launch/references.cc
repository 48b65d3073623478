#include "launch/references.h"

#include <fmt/format.h>

#include <algorithm>
namespace slipway::launch {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The name at the beginning of the text; it may be empty.
std::string_view leading_name(std::string_view text) {
  return text.substr(0,
                     static_cast<size_t>(std::ranges::find_if_not(text, is_name_character) - text.begin()));
}

const std::string* find(const std::map<std::string, std::string>& paths, std::string_view name) {
  const auto found = paths.find(std::string(name));
  return found == paths.end() ? nullptr : &found->second;
}

std::unexpected<Error> unknown(std::string_view kind, std::string_view name) {
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("the command names ${{{}s.{}}}, and the run has no {} of that name", kind, name, kind),
      fmt::format("add it to the run's {}s, or correct the name", kind));
}

// A reference at the beginning of `text`: its length and what stands for it. Length 0: there is none.
struct Found {
  size_t length = 0;
  const std::string* path = nullptr;
};

Result<Found> find_braced(std::string_view text, const DataPaths& data) {
  for (const bool input : {true, false}) {
    const std::string_view prefix = input ? "${inputs." : "${outputs.";
    if (!text.starts_with(prefix)) continue;
    const std::string_view name = leading_name(text.substr(prefix.size()));
    if (name.empty() || !text.substr(prefix.size() + name.size()).starts_with('}')) return Found{};
    const std::string* path = find(input ? data.inputs : data.outputs, name);
    if (path == nullptr) return unknown(input ? "input" : "output", name);
    return Found{.length = prefix.size() + name.size() + 1, .path = path};
  }
  return Found{};
}

// Names of models may hold '-' and '.', so that they reach to the brace.
Result<Found> find_model(std::string_view text, const DataPaths& data) {
  constexpr std::string_view kPrefix = "${models.";
  const size_t end = text.find('}');
  if (!text.starts_with(kPrefix) || end == std::string_view::npos) return Found{};
  const std::string_view name = text.substr(kPrefix.size(), end - kPrefix.size());
  const std::string* path = find(data.models, name);
  if (path == nullptr) return unknown("model", name.substr(0, 64));
  return Found{.length = end + 1, .path = path};
}

Found find_azure(std::string_view text, const DataPaths& data) {
  if (!text.substr(1).starts_with(kDataReference)) return {};
  const std::string_view name = leading_name(text.substr(1 + kDataReference.size()));
  const std::string* path = find(data.inputs, name);
  if (path == nullptr) path = find(data.outputs, name);
  return path == nullptr ? Found{} : Found{.length = 1 + kDataReference.size() + name.size(), .path = path};
}

bool is_delicate(std::string_view name) {
  constexpr std::string_view kDelicate[] = {"PATH",   "HOME",  "LANG", "USER",
                                            "TMPDIR", "SHELL", "IFS",  "PYTHONPATH"};
  return std::ranges::find(kDelicate, name) != std::end(kDelicate) || name.starts_with("LD_") ||
         name.starts_with("SLIPWAY_") || name.starts_with("CUDA_");
}

}  // namespace

Result<std::string> put_paths(std::string_view text, const DataPaths& data) {
  std::string result;
  while (!text.empty()) {
    const size_t dollar = std::min(text.find('$'), text.size());
    result += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) break;
    SLIPWAY_ASSIGN(Found found, find_braced(text, data));
    if (found.length == 0) {
      SLIPWAY_ASSIGN(found, find_model(text, data));
    }
    if (found.length == 0) found = find_azure(text, data);
    result += found.length == 0 ? "$" : *found.path;
    text.remove_prefix(std::max<size_t>(found.length, 1));
  }
  return result;
}

std::map<std::string, std::string> data_variables(const DataPaths& data) {
  std::map<std::string, std::string> variables;
  for (const auto* paths : {&data.outputs, &data.inputs}) {
    for (const auto& [name, path] : *paths) {
      variables[std::string(kDataReference) + name] = path;
      if (!is_delicate(name)) variables[name] = path;
    }
  }
  return variables;
}

}  // namespace slipway::launch
