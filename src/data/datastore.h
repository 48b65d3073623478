// A place where data lies: one small interface for a folder, a web server and the workspace's own store, made
// so that object storage fits behind it: listing with pages, ranges, entity tags.
//
// Paths are relative to the datastore, '/' between components, clean (base/file.h); they come from users and
// never leave the datastore. A datastore is safe to use from several threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "data/manifest.h"

namespace slipway::data {

struct Object {
  std::string path = {};
  uint64_t size = 0;
  std::string tag = {};               // changes when the content does; may be empty for a web server's files
  std::optional<Digest> digest = {};  // where it is known without reading
  // Why it cannot be read, for a link that leaves the datastore and the like: listed, so that nobody misses
  // it in silence, and an error to whoever wants its bytes.
  std::string refused = {};
  bool operator==(const Object&) const = default;
};

struct ListRequest {
  // Only paths that begin with it, as text; a folder is "train/".
  std::string prefix = {};
  // Only paths after this one: what a page gave as `next`.
  std::string after = {};
  size_t limit = 10'000;
};

struct Page {
  std::vector<Object> objects;  // in the order of their paths (as bytes)
  std::string next;             // empty: that was the last page
};

struct Range {
  uint64_t offset = 0;
  uint64_t length = UINT64_MAX;  // cut at the end of the object
  // A server without ranges: kUnsupported, instead of reading all that stands before.
  bool part_only = false;
};

// Takes bytes as they come, in order; an error ends the transfer with it.
using Sink = std::function<Status(std::string_view)>;
// Gives the next piece, valid until the next call; empty at the end.
using Pieces = std::function<Result<std::string_view>()>;

class Datastore {
 public:
  virtual ~Datastore() = default;

  virtual SourceKind kind() const = 0;
  // kUnsupported where there is no way to ask, as with a web server.
  virtual Result<Page> list(const ListRequest& request) = 0;
  // kNotFound, kPermissionDenied and the like, naming the path. A folder is kNotFound: only files are
  // objects.
  virtual Result<Object> stat(const std::string& path) = 0;
  // Gives the object as it is while it is read. With a non-empty `tag`, kConflict when it is another object
  // by now. A range that begins at or behind the end gives nothing.
  virtual Result<Object> read(const std::string& path, const Range& range, const std::string& tag,
                              const Sink& sink) = 0;
  // Stores a whole object, or nothing. kConflict when it is there already and `overwrite` is false;
  // kUnsupported for a web server.
  virtual Result<Object> write(const std::string& path, const Pieces& pieces, bool overwrite) = 0;
  // The object with its digest, read through where that is not known. kConflict for one that keeps changing.
  // `buffer` is working space.
  virtual Result<Object> hash(const std::string& path, std::span<char> buffer);
};

// Every page of a listing, one after the other; `on_object` ends it with an error.
Status list_all(Datastore& datastore, const std::string& prefix,
                const std::function<Status(Object&&)>& on_object);

}  // namespace slipway::data
