// The manifest of a dataset's version: which files it has, where the bytes of each one are, and how to tell
// that they are still the same.
//
// Its canonical text is JSON lines: a header with the sources, then one line for each file in the order of
// their paths (as bytes). What is empty is left out, and a key that is the path itself is too:
//   {"version":1,"sources":[{"kind":"folder","datastore":"images"}],"files":2,"bytes":640}
//   {"path":"train/0.png","size":312,"digest":"9f86...","source":0}
//   {"path":"train/1.png","size":328,"digest":"60a3...","source":0}
// The SHA-256 of that text is the manifest's id.
//
// Only the canonical text is read: whatever stores or sends one uses `text`, so that the id of a text is its
// digest and nothing has to be written again to check it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"

namespace slipway::data {

constexpr size_t kMaxFiles = 2'000'000;
constexpr size_t kMaxSources = 4096;
constexpr uint64_t kMaxTotalBytes = 1ULL << 50;
// No manifest's text is longer; the limit for whoever reads one.
constexpr size_t kMaxManifestText = 1ULL << 30;

enum class SourceKind {
  kWorkspace,  // the workspace's own store: bytes are found by their digest
  kFolder,     // a folder on a machine or a shared disk
  kHttp,       // an http or https server
};
std::string_view to_text(SourceKind kind);  // "workspace", "folder", "http"
Result<SourceKind> source_kind_from_text(std::string_view text);

// Where files come from. A datastore is named, not copied: where it lies and the credentials for it are asked
// for when they are needed. Plain URLs have no datastore; `location` is then their server:
// "https://host:8443".
struct Source {
  SourceKind kind = SourceKind::kWorkspace;
  std::string datastore = {};
  std::string location = {};
  auto operator<=>(const Source&) const = default;
};

struct File {
  std::string path = {};  // where it lies below the dataset's folder: clean (base/file.h), valid UTF-8
  uint64_t size = 0;
  std::optional<Digest> digest = {};  // of the content; always there for folders and the workspace's store
  std::string tag = {};               // the server's entity tag or time of modification; http only
  uint32_t source = 0;                // index into the manifest's sources
  // What names it there: a path below the datastore, or for plain URLs path and query from the server's root
  // as they stand in a request.
  std::string key = {};
  bool operator==(const File&) const = default;
};

// Immutable, and always whole: every Manifest has passed the checks, so that its paths may become files below
// a folder. Copying copies the files. Safe to read from any thread.
class Manifest {
 public:
  Manifest();  // without sources and files

  // kInvalidArgument, naming the path, for one that is not clean or not UTF-8, stands there twice, is a file
  // and a folder at once, or has neither digest nor tag; kTooLarge beyond the bounds above. The files may
  // come in any order; sources that no file uses are dropped, and the rest is sorted.
  static Result<Manifest> make(std::vector<Source> sources, std::vector<File> files);
  // Reads what `text` wrote; kInvalidArgument for any other text.
  static Result<Manifest> parse(std::string_view text);

  const std::vector<Source>& sources() const { return sources_; }
  const std::vector<File>& files() const { return files_; }  // in the order of their paths
  const File* find(std::string_view path) const;             // null: no such file
  const Source& source_of(const File& file) const { return sources_[file.source]; }
  uint64_t total_bytes() const { return total_bytes_; }
  std::string text() const;
  // Digest of the text; costs writing it.
  Digest id() const { return Digest::of(text()); }
  bool operator==(const Manifest&) const = default;

 private:
  Manifest(std::vector<Source> sources, std::vector<File> files);

  std::vector<Source> sources_;
  std::vector<File> files_;
  uint64_t total_bytes_ = 0;
};

enum class Change { kAdded, kRemoved, kModified };
std::string_view to_text(Change change);  // "added", "removed", "modified"

struct FileChange {
  std::string path;
  Change change = Change::kModified;
  bool operator==(const FileChange&) const = default;
};

// Whether both are known to be the same bytes, wherever they lie.
bool same_content(const File& one, const File& other);
// What one must do to `from` to get `to`, in the order of the paths. A file that only moved to another source
// has not changed.
std::vector<FileChange> diff(const Manifest& from, const Manifest& to);

}  // namespace slipway::data
