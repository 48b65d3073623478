#include "environments/requirement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "environments/line_text.h"

namespace slipway::environments {
namespace {

constexpr std::string_view kLocalHint =
    "an environment takes packages from an index or a URL, so that every node can build it; a module of the "
    "source folder needs no entry, and a wheel may be named by its https:// URL";

auto refuse(std::string message, std::string next = "") {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(next));
}

bool is_name_character(char c) {
  return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
}

bool is_remote_url(std::string_view text) {
  const std::string scheme = lowered(text.substr(0, text.find("://")));
  constexpr std::array kSchemes{"http",    "https",    "git+https", "git+http",
                                "git+ssh", "hg+https", "svn+https", "bzr+https"};
  return text.find("://") != std::string_view::npos && std::ranges::find(kSchemes, scheme) != kSchemes.end();
}

// Whether the part between "://" and the host holds "user:password@" or a lone token.
bool has_credentials(std::string_view url) {
  const size_t start = url.find("://");
  if (start == std::string_view::npos) return false;
  const std::string_view authority = url.substr(start + 3, url.find('/', start + 3) - start - 3);
  const size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return false;
  // git+ssh://git@host names an account, not a secret.
  return authority.substr(0, at).find(':') != std::string_view::npos || !url.starts_with("git+ssh");
}

Status check_url(std::string_view url) {
  if (!is_remote_url(url))
    return refuse(fmt::format("'{}' is a local path or an address that nodes cannot fetch from", shown(url)),
                  std::string(kLocalHint));
  if (has_credentials(url))
    return refuse("the address of a package holds a user name or password",
                  "leave it out: a node takes credentials from its own uv, pip or netrc configuration");
  return {};
}

bool looks_like_path(std::string_view line) {
  if (line.starts_with('.') || line.starts_with('/') || line.starts_with('~')) return true;
  const std::string_view word = line.substr(0, line.find_first_of(" ;=<>!~[(@"));
  for (const char* ending : {".whl", ".tar.gz", ".zip", ".tar.bz2"})
    if (word.ends_with(ending)) return true;
  return word.find_first_of("/\\") != std::string_view::npos;
}

// Cuts " --hash=..." and what follows off the line.
std::string take_options(std::string_view& line) {
  const size_t at = line.find(" --");
  if (at == std::string_view::npos) return "";
  std::string options(trimmed(line.substr(at)));
  line = trimmed(line.substr(0, at));
  return options;
}

Status check_options(std::string_view options) {
  for (const std::string_view option : pieces_of(options, ' '))
    if (!option.empty() && !option.starts_with("--hash=sha"))
      return refuse(fmt::format("'{}' is no option that a requirement may have here", shown(option)),
                    "only --hash=sha256:... may stand behind a requirement");
  return {};
}

std::string take_marker(std::string_view& line, bool is_url) {
  // In a URL only a ';' behind a blank begins a marker.
  const size_t at = is_url ? line.find(" ;") : line.find(';');
  if (at == std::string_view::npos) return "";
  std::string marker(trimmed(line.substr(line.find(';', at) + 1)));
  line = trimmed(line.substr(0, at));
  return marker;
}

Status take_extras(std::string_view& rest, Requirement& requirement) {
  if (!rest.starts_with('[')) return {};
  const size_t end = rest.find(']');
  if (end == std::string_view::npos) return refuse("the '[' of the extras is not closed");
  for (const std::string_view extra : pieces_of(rest.substr(1, end - 1), ',')) {
    if (extra.empty() && end == 1) break;
    if (extra.empty() || !std::ranges::all_of(extra, is_name_character))
      return refuse(fmt::format("'{}' is no name of an extra", shown(extra)));
    requirement.extras.emplace_back(extra);
  }
  rest = trimmed(rest.substr(end + 1));
  return {};
}

// pip itself judges what a marker means; here it must only stay what it is: no option, no control character.
Status check_marker(std::string_view marker) {
  const bool good =
      !marker.starts_with('-') && std::ranges::all_of(marker, [](char c) { return c >= 0x20 && c < 0x7f; });
  if (good) return {};
  return refuse(fmt::format("'{}' is no marker", shown(marker)),
                "for example: numpy; python_version < '3.8'");
}

Status check_constraint(std::string_view constraint) {
  constexpr std::array kOperators{"===", "==", "~=", "!=", "<=", ">=", "<", ">"};
  for (std::string_view piece : pieces_of(constraint, ',')) {
    const auto found = std::ranges::find_if(kOperators, [&](const char* o) { return piece.starts_with(o); });
    if (found == kOperators.end()) {
      const bool single = piece.starts_with('=');
      return refuse(fmt::format("'{}' is no version constraint", shown(piece)),
                    single ? "pip writes '==' where conda writes '='" : "for example: numpy>=1.20,<2");
    }
    const std::string_view version = trimmed(piece.substr(std::string_view(*found).size()));
    const bool good =
        !version.empty() && is_letter_or_digit(version.front()) && std::ranges::all_of(version, [](char c) {
          return is_name_character(c) || c == '*' || c == '+' || c == '!';
        });
    if (!good)
      return refuse(fmt::format("'{}' is no version constraint", shown(piece)),
                    "for example: numpy>=1.20,<2");
  }
  return {};
}

}  // namespace

std::string package_name(std::string_view name) {
  std::string normal;
  for (const char c : lowered(name)) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (!separator) {
      normal += c;
    } else if (!normal.empty() && normal.back() != '-') {
      normal += '-';
    }
  }
  return normal;
}

bool is_resolver_option(std::string_view line) {
  return trimmed(line).starts_with('-');
}

Result<Requirement> parse_requirement(std::string_view line) {
  std::string_view rest = trimmed(line);
  Requirement requirement;
  requirement.options = take_options(rest);
  SLIPWAY_TRY(check_options(requirement.options));
  if (rest.empty()) return refuse("the line asks for no package");
  const bool bare_url = rest.substr(0, rest.find_first_of(" ;@[")).find("://") != std::string_view::npos;
  const bool direct = bare_url || rest.find('@') < rest.find_first_of("=<>!~;");
  requirement.marker = take_marker(rest, direct);
  SLIPWAY_TRY(check_marker(requirement.marker));
  if (bare_url) {
    requirement.url = std::string(rest);
    SLIPWAY_TRY(check_url(requirement.url));
    return requirement;
  }
  if (!direct && looks_like_path(rest))
    return refuse(fmt::format("'{}' is a local path", shown(rest)), std::string(kLocalHint));
  const size_t name_end =
      static_cast<size_t>(std::ranges::find_if_not(rest, is_name_character) - rest.begin());
  requirement.name = std::string(rest.substr(0, name_end));
  if (requirement.name.empty() || !is_letter_or_digit(requirement.name.front()) ||
      !is_letter_or_digit(requirement.name.back()))
    return refuse(fmt::format("'{}' does not begin with the name of a package", shown(rest)));
  rest = trimmed(rest.substr(name_end));
  SLIPWAY_TRY(take_extras(rest, requirement));
  if (rest.starts_with('@')) {
    requirement.url = std::string(trimmed(rest.substr(1)));
    SLIPWAY_TRY(check_url(requirement.url));
    return requirement;
  }
  if (rest.starts_with('(') && rest.ends_with(')')) rest = trimmed(rest.substr(1, rest.size() - 2));
  if (rest.empty()) return requirement;
  SLIPWAY_TRY(check_constraint(rest));
  for (const char c : rest)
    if (c != ' ' && c != '\t') requirement.constraint += c;
  return requirement;
}

std::string to_text(const Requirement& requirement) {
  std::string text = requirement.name;
  if (!requirement.extras.empty()) text += fmt::format("[{}]", fmt::join(requirement.extras, ","));
  text += requirement.constraint;
  if (!requirement.url.empty()) text += (requirement.name.empty() ? "" : " @ ") + requirement.url;
  if (!requirement.marker.empty()) text += (requirement.url.empty() ? "; " : " ; ") + requirement.marker;
  if (!requirement.options.empty()) text += " " + requirement.options;
  return text;
}

Result<std::string> parse_resolver_option(std::string_view line) {
  struct Option {
    const char* name;
    const char* short_name;  // "" where there is none
    bool has_value;
    bool value_is_url;
  };
  constexpr std::array kOptions{
      Option{"--index-url", "-i", true, true},
      Option{"--extra-index-url", "", true, true},
      Option{"--find-links", "-f", true, true},
      Option{"--no-index", "", false, false},
      Option{"--pre", "", false, false},
      Option{"--prefer-binary", "", false, false},
      Option{"--require-hashes", "", false, false},
      Option{"--no-binary", "", true, false},
      Option{"--only-binary", "", true, false},
      Option{"--trusted-host", "", true, false},
  };
  line = trimmed(line);
  const size_t end = line.find_first_of(" \t=");
  const std::string_view name = line.substr(0, end);
  const std::string_view value = end == std::string_view::npos ? "" : trimmed(line.substr(end + 1));
  const auto known = std::ranges::find_if(
      kOptions, [&](const Option& option) { return name == option.name || name == option.short_name; });
  if (known == kOptions.end())
    return refuse(fmt::format("'{}' is no option that an environment may have", shown(name)),
                  "settings of the resolver belong into the uv or pip configuration of the nodes");
  if (known->has_value == value.empty())
    return refuse(fmt::format("'{}' {} a value", known->name, known->has_value ? "needs" : "takes no"));
  if (known->value_is_url) SLIPWAY_TRY(check_url(value));
  return value.empty() ? std::string(known->name) : fmt::format("{} {}", known->name, value);
}

}  // namespace slipway::environments
