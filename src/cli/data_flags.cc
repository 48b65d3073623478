#include "cli/data_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "cli/quantities.h"

namespace slipway::cli {
namespace {

std::unexpected<Error> bad(std::string_view text, std::string_view why, std::string next) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' {}", printable(text, 128), why),
              std::move(next));
}

constexpr const char* kInputForm = "write it as mnist=mount:mnist:2, mount or download";
constexpr const char* kOutputForm =
    "write it as model=upload:workspaceblobstore:models/new,register=model, or just its name";

Result<bool> yes_or_no(std::string_view text, std::string_view value) {
  if (value == "yes" || value == "true") return true;
  if (value == "no" || value == "false") return false;
  return bad(text, "has a setting that is neither yes nor no", "");
}

// What stands behind the first comma: "key=value,key=value"; `take` is false for an unknown key.
Status read_settings(std::string_view text,
                     const std::function<Result<bool>(std::string_view key, std::string_view value)>& take) {
  size_t at = text.find(',');
  while (at != std::string_view::npos) {
    const size_t end = std::min(text.find(',', at + 1), text.size());
    const std::string_view setting = text.substr(at + 1, end - at - 1);
    const size_t equals = setting.find('=');
    SLIPWAY_ASSIGN(const bool known,
                   take(setting.substr(0, equals),
                        equals == std::string_view::npos ? std::string_view() : setting.substr(equals + 1)));
    if (!known) return bad(text, fmt::format("has the unknown setting '{}'", printable(setting, 64)), "");
    at = end == text.size() ? std::string_view::npos : end;
  }
  return {};
}

}  // namespace

Result<JobInput> parse_input(std::string_view text) {
  JobInput input;
  SLIPWAY_TRY(read_settings(text, [&](std::string_view key, std::string_view value) -> Result<bool> {
    if (key == "path") input.path = value;
    if (key == "verify") {
      SLIPWAY_ASSIGN(input.verify, yes_or_no(text, value));
    }
    return key == "path" || key == "verify";
  }));
  std::string_view reference = text.substr(0, text.find(','));
  const size_t colon = reference.find(':');
  if (colon != std::string_view::npos)
    if (const auto mode = data_mode_from_text(reference.substr(0, colon))) {
      input.mode = *mode;
      reference.remove_prefix(colon + 1);
    }
  if (reference.empty()) return bad(text, "names no dataset", kInputForm);
  input.dataset = reference;
  return input;
}

Result<JobOutput> parse_output(std::string_view text) {
  JobOutput output;
  SLIPWAY_TRY(read_settings(text, [&](std::string_view key, std::string_view value) -> Result<bool> {
    if (key == "register") output.register_as = value;
    if (key == "overwrite") {
      SLIPWAY_ASSIGN(output.overwrite, yes_or_no(text, value));
    }
    return key == "register" || key == "overwrite";
  }));
  std::string_view place = text.substr(0, text.find(','));
  for (const auto& [word, mode] :
       {std::pair{"mount", OutputMode::kMount}, std::pair{"upload", OutputMode::kUpload}})
    if (place == word || place.starts_with(fmt::format("{}:", word))) {
      output.mode = mode;
      place.remove_prefix(std::min(std::string_view(word).size() + 1, place.size()));
      break;
    }
  if (const size_t colon = place.find(':'); colon != std::string_view::npos) {
    output.datastore = place.substr(0, colon);
    place.remove_prefix(colon + 1);
  }
  while (place.ends_with('/')) place.remove_suffix(1);
  output.path = place;
  return output;
}

Result<std::pair<std::string, JobInput>> parse_input_flag(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return bad(text, "is no input", kInputForm);
  SLIPWAY_ASSIGN(JobInput input, parse_input(text.substr(equals + 1)));
  return std::pair(std::string(text.substr(0, equals)), std::move(input));
}

Result<std::pair<std::string, JobOutput>> parse_output_flag(std::string_view text) {
  const size_t end = text.find_first_of("=,");
  if (end == 0 || text.empty()) return bad(text, "is no output", kOutputForm);
  const bool placed = end != std::string_view::npos && text[end] == '=';
  SLIPWAY_ASSIGN(JobOutput output, parse_output(end == std::string_view::npos ? std::string_view()
                                                : placed                      ? text.substr(end + 1)
                                                                              : text.substr(end)));
  return std::pair(std::string(text.substr(0, end)), std::move(output));
}

}  // namespace slipway::cli
