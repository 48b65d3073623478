// The manifest of a snapshot: which files it has, and the digest of each one's content.
//
// Its canonical text is one line of JSON with the files in the order of their paths (as bytes):
//   {"version":1,"files":[{"path":"train.py","mode":420,"size":812,"digest":"9f86..."}]}
// The SHA-256 of that text is the snapshot's id, so that the same folder has the same id on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"

namespace slipway::snapshot {

constexpr size_t kMaxEntries = 300'000;
constexpr uint64_t kMaxTotalBytes = 16ULL << 40;
// No manifest's text is longer; the limit for a request's body that carries one.
constexpr size_t kMaxManifestText = 96 << 20;

struct Entry {
  std::string path;  // relative, '/' between components, clean (base/file.h), valid UTF-8
  int mode = 0644;   // 0644 or 0755: of a file's permissions only "may be executed" is kept
  uint64_t size = 0;
  Digest digest;
  bool operator==(const Entry&) const = default;
};

// Immutable, and always whole: every Manifest has passed the checks, so that its paths may become files below
// a folder. Copying copies the entries.
class Manifest {
 public:
  // The snapshot of an empty folder.
  Manifest();

  // kInvalidArgument, naming the path, for one that is not clean or not UTF-8, stands there twice or is a
  // file and a folder at once, for a mode other than 0644 and 0755, and for one digest with two sizes;
  // kTooLarge beyond the bounds above. The entries may come in any order.
  static Result<Manifest> from_entries(std::vector<Entry> entries);
  // Reads what `text` wrote, or a peer. White space and the order of the files are free: the id is always
  // that of the canonical text.
  static Result<Manifest> parse(std::string_view text);

  const std::vector<Entry>& entries() const { return entries_; }  // in the order of their paths
  const Entry* find(std::string_view path) const;                 // null: no such file
  const Digest& id() const { return id_; }
  uint64_t total_bytes() const { return total_bytes_; }
  std::string text() const;
  bool operator==(const Manifest& other) const { return id_ == other.id_; }

 private:
  explicit Manifest(std::vector<Entry> entries);

  std::vector<Entry> entries_;
  Digest id_;
  uint64_t total_bytes_ = 0;
};

enum class Change { kAdded, kRemoved, kModified };
std::string_view to_text(Change change);  // "added", "removed", "modified"

struct FileChange {
  std::string path;
  Change change = Change::kModified;
  bool operator==(const FileChange&) const = default;
};

// What one must do to `from` to get `to`, in the order of the paths. Another mode alone is a modification.
std::vector<FileChange> diff(const Manifest& from, const Manifest& to);

}  // namespace slipway::snapshot
