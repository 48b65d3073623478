// Which files of a source folder stay out of its snapshot: git's own rules (gitignore(5)), as git 2.39
// applies them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/glob.h"

namespace slipway::snapshot {

// The names an ignore file may have. The first that lies in the source folder itself is the one that counts;
// files of that name in sub-folders count too, files of the other names nowhere.
constexpr const char* kIgnoreFileNames[] = {".slipwayignore", ".amlignore", ".gitignore"};
constexpr size_t kMaxIgnoreFileBytes = 1 << 20;

// True for ".git" and ".slipway", which are never part of a snapshot.
bool is_always_ignored(std::string_view name);

enum class Verdict { kNone, kIgnored, kKept };

// The patterns of one ignore file. Immutable, so safe from any thread.
class IgnoreFile {
 public:
  // Any text is taken; a pattern that makes no sense matches nothing.
  explicit IgnoreFile(std::string_view text);

  // What the last pattern that matches says. `path` is relative to the folder the ignore file lies in.
  Verdict check(std::string_view path, bool is_folder) const;
  bool empty() const { return patterns_.empty(); }

 private:
  struct Pattern {
    bool negated = false;
    bool folders_only = false;
    bool name_only = false;    // no slash inside: compared with the last component
    bool any_start = false;    // "*literal"
    std::string literal;       // what stands before the first wildcard, or after the one star
    std::optional<Glob> rest;  // what follows the literal; none: nothing may follow

    bool matches(std::string_view path, std::string_view name) const;
  };
  static Pattern parse_pattern(std::string_view line);

  std::vector<Pattern> patterns_;
};

// The ignore files that apply in one folder: its own, then those of the folders above, nearest first. Lives
// on the walker's stack; `parent` outlives it.
class IgnoreScope {
 public:
  // `folder` is the path from the source folder, "" for that itself.
  IgnoreScope(const IgnoreScope* parent, std::string folder, std::optional<IgnoreFile> file)
      : parent_(parent), folder_(std::move(folder)), file_(std::move(file)) {}

  // Whether the entry `path` (from the source folder) of this very folder is left out. Nothing below a folder
  // that is left out can be taken in again: the walker does not go in there.
  bool ignores(std::string_view path, bool is_folder) const;

 private:
  const IgnoreScope* parent_;
  std::string folder_;
  std::optional<IgnoreFile> file_;
};

}  // namespace slipway::snapshot
