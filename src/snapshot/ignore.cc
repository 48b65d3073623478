#include "snapshot/ignore.h"

#include <algorithm>
#include <ranges>

namespace slipway::snapshot {
namespace {

constexpr std::string_view kWildcards = "*?[\\";

std::string_view without_trailing_blanks(std::string_view line) {
  size_t end = 0;  // after the last byte that is no blank, or is one that a backslash keeps
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] == ' ') continue;
    if (line[at] == '\\' && at + 1 < line.size()) ++at;
    end = at + 1;
  }
  return line.substr(0, end);
}

std::string_view last_component(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

bool is_always_ignored(std::string_view name) {
  return name == ".git" || name == ".slipway";
}

IgnoreFile::IgnoreFile(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = line.substr(0, line.find('\0'));
    if (line.starts_with('#')) continue;
    line = without_trailing_blanks(line);
    if (!line.empty()) patterns_.push_back(parse_pattern(line));
  }
}

IgnoreFile::Pattern IgnoreFile::parse_pattern(std::string_view line) {
  Pattern pattern;
  pattern.negated = line.starts_with('!');
  if (pattern.negated) line.remove_prefix(1);
  pattern.folders_only = line.ends_with('/');
  if (pattern.folders_only) line.remove_suffix(1);
  pattern.name_only = !line.contains('/');
  if (pattern.name_only && line.starts_with('*') &&
      line.find_first_of(kWildcards, 1) == std::string_view::npos) {
    pattern.any_start = true;
    pattern.literal = line.substr(1);
    return pattern;
  }
  if (!pattern.name_only && line.starts_with('/')) line.remove_prefix(1);
  // What stands before the first wildcard is compared as it is. To git the rest then begins a pattern of its
  // own, so that in "a**/b" the stars cross slashes; so they do here.
  const size_t plain = std::min(line.find_first_of(kWildcards), line.size());
  pattern.literal = line.substr(0, plain);
  if (plain < line.size())
    pattern.rest.emplace(line.substr(plain), pattern.name_only ? Slashes::kPlain : Slashes::kSeparator);
  return pattern;
}

bool IgnoreFile::Pattern::matches(std::string_view path, std::string_view name) const {
  const std::string_view text = name_only ? name : path;
  if (any_start) return text.ends_with(literal);
  if (!text.starts_with(literal)) return false;
  const std::string_view left = text.substr(literal.size());
  return rest ? rest->matches(left) : left.empty();
}

Verdict IgnoreFile::check(std::string_view path, bool is_folder) const {
  const std::string_view name = last_component(path);
  for (const Pattern& pattern : std::views::reverse(patterns_)) {
    if (pattern.folders_only && !is_folder) continue;
    if (pattern.matches(path, name)) return pattern.negated ? Verdict::kKept : Verdict::kIgnored;
  }
  return Verdict::kNone;
}

bool IgnoreScope::ignores(std::string_view path, bool is_folder) const {
  for (const IgnoreScope* scope = this; scope != nullptr; scope = scope->parent_) {
    if (!scope->file_) continue;
    const size_t above = scope->folder_.empty() ? 0 : scope->folder_.size() + 1;
    const Verdict verdict = scope->file_->check(path.substr(above), is_folder);
    if (verdict != Verdict::kNone) return verdict == Verdict::kIgnored;
  }
  return false;
}

}  // namespace slipway::snapshot
