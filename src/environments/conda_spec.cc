#include "environments/conda_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "environments/line_text.h"

namespace slipway::environments {
namespace {

auto refuse(std::string_view text) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is no package specification of conda", shown(text)),
              "for example: numpy=1.18, scikit-learn>=1.0,<2 or conda-forge::xgboost");
}

bool is_name_character(char c) {
  return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
}

bool is_version_character(char c) {
  return is_letter_or_digit(c) || std::string_view("._*+!|,<>=~-").find(c) != std::string_view::npos;
}

// Takes "[version='>=1.2',build=x]" off the end.
Status take_brackets(std::string_view& text, CondaSpec& spec) {
  if (!text.ends_with(']')) return {};
  const size_t open = text.find('[');
  if (open == std::string_view::npos) return refuse(text);
  std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  text = trimmed(text.substr(0, open));
  while (!inside.empty()) {
    const size_t equals = inside.find('=');
    if (equals == std::string_view::npos) return refuse(inside);
    const std::string key = lowered(trimmed(inside.substr(0, equals)));
    std::string_view rest = trimmed(inside.substr(equals + 1));
    const char quote = !rest.empty() && (rest[0] == '\'' || rest[0] == '"') ? rest[0] : ',';
    if (quote != ',') rest.remove_prefix(1);
    const size_t end = rest.find(quote);
    const std::string value(trimmed(rest.substr(0, end)));
    if (key == "version") {
      spec.constraint = value;
    } else if (key == "build") {
      spec.build = value;
    } else if (key == "channel") {
      spec.channel = value;
    } else {
      return refuse(inside);
    }
    const size_t comma = end == std::string_view::npos ? end : rest.find(',', end);
    inside = comma == std::string_view::npos ? "" : trimmed(rest.substr(comma + 1));
  }
  return {};
}

// "=1.2=py36_0" or "1.2 py36_0" behind the name.
void take_version(std::string_view rest, CondaSpec& spec) {
  if (rest.starts_with('=') && !rest.starts_with("==")) {
    const size_t build = rest.find('=', 1);
    spec.build = build == std::string_view::npos ? "" : std::string(trimmed(rest.substr(build + 1)));
    spec.constraint = rest.substr(0, build);
    return;
  }
  if (const bool bare = is_letter_or_digit(rest.front()); bare) {
    const size_t blank = rest.find(' ');
    spec.build = blank == std::string_view::npos ? "" : std::string(trimmed(rest.substr(blank + 1)));
    // "numpy 1.18" is that version exactly; "numpy 1.18.*" any release of it.
    const std::string_view version = rest.substr(0, blank);
    spec.constraint =
        fmt::format("{}{}", version.find_first_of("*|,<>") == std::string_view::npos ? "==" : "", version);
    return;
  }
  spec.constraint = rest;
}

}  // namespace

Result<CondaSpec> parse_conda_spec(std::string_view text) {
  const std::string_view whole = trimmed(text);
  std::string_view rest = whole.substr(0, whole.find(" #"));
  CondaSpec spec;
  if (const size_t colons = rest.find("::"); colons != std::string_view::npos) {
    spec.channel = std::string(trimmed(rest.substr(0, colons)));
    rest = trimmed(rest.substr(colons + 2));
  }
  SLIPWAY_TRY(take_brackets(rest, spec));
  const auto end = std::ranges::find_if_not(rest, is_name_character);
  spec.name = lowered(rest.substr(0, static_cast<size_t>(end - rest.begin())));
  rest = trimmed(rest.substr(spec.name.size()));
  if (!rest.empty()) take_version(rest, spec);
  std::erase(spec.constraint, ' ');
  if (spec.constraint == "*" || spec.constraint == "=*") spec.constraint.clear();
  const bool good =
      !spec.name.empty() && (is_letter_or_digit(spec.name.front()) || spec.name.front() == '_') &&
      std::ranges::all_of(spec.constraint, is_version_character) &&
      std::ranges::all_of(spec.build, is_version_character) &&
      (spec.constraint.empty() || std::ranges::any_of(spec.constraint, is_letter_or_digit)) &&
      std::ranges::all_of(spec.channel, [](char c) { return is_name_character(c) || c == '/' || c == ':'; });
  if (!good) return refuse(whole);
  return spec;
}

std::string to_text(const CondaSpec& spec) {
  std::string text = spec.channel.empty() ? spec.name : fmt::format("{}::{}", spec.channel, spec.name);
  const bool bare = !spec.constraint.empty() && is_letter_or_digit(spec.constraint.front());
  text += (bare ? "=" : "") + spec.constraint;
  if (!spec.build.empty()) text += "=" + spec.build;
  return text;
}

Result<std::string> pip_constraint(const CondaSpec& spec) {
  if (spec.constraint.find('|') != std::string::npos)
    return fail(ErrorCode::kUnsupported,
                fmt::format("'{}' allows one version or another, which pip cannot say", to_text(spec)),
                "write one version, or install a conda tool: micromamba");
  if (spec.constraint.empty()) return std::string();
  std::string constraint;
  for (std::string_view piece : pieces_of(spec.constraint, ',')) {
    if (!constraint.empty()) constraint += ',';
    const bool fuzzy =
        (piece.starts_with('=') && !piece.starts_with("==")) || is_letter_or_digit(piece.front());
    if (!fuzzy) {
      constraint += piece;
      continue;
    }
    if (piece.starts_with('=')) piece.remove_prefix(1);
    while (piece.ends_with('*') || piece.ends_with('.')) piece.remove_suffix(1);
    // pip has no prefix match on "2021a" or "1.0rc1".
    const bool numeric =
        std::ranges::all_of(piece, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
    constraint += fmt::format("=={}{}", piece, numeric ? ".*" : "");
  }
  return constraint;
}

std::string python_of(const CondaSpec& spec) {
  std::string_view text = spec.constraint;
  if (text.find_first_of("<>!~,|") != std::string_view::npos) return std::string(text);
  while (text.starts_with('=')) text.remove_prefix(1);
  while (text.ends_with('*') || text.ends_with('.')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace slipway::environments
