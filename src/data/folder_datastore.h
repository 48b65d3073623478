// A folder as a datastore.
//
// Invariants
//   1. Nothing outside the folder is opened: every path is resolved by the kernel beneath it (openat2). Links
//      that stay inside are followed; one that leaves, loops or leads nowhere is refused with a sentence.
//   2. A written object is there whole or not at all: written aside, synced, renamed.
//   3. Names that begin with kAsidePrefix are such files in the making and are never listed.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "data/datastore.h"

namespace slipway::data {

constexpr std::string_view kAsidePrefix = ".slipway-upload-";

class FolderDatastore final : public Datastore {
 public:
  // kInvalidArgument when there is no such folder, kPermissionDenied when it cannot be read.
  static Result<std::unique_ptr<FolderDatastore>> open(const std::filesystem::path& root);

  SourceKind kind() const override { return SourceKind::kFolder; }
  Result<Page> list(const ListRequest& request) override;
  Result<Object> stat(const std::string& path) override;
  Result<Object> read(const std::string& path, const Range& range, const std::string& tag,
                      const Sink& sink) override;
  Result<Object> write(const std::string& path, const Pieces& pieces, bool overwrite) override;
  // One that changes meanwhile is read again, a few times.
  Result<Object> hash(const std::string& path, std::span<char> buffer) override;

  // The file itself, for whoever is on the same machine; a regular file, positioned at its beginning.
  Result<UniqueFd> open_file(const std::string& path);

 private:
  FolderDatastore(UniqueFd root, std::string shown) : root_(std::move(root)), shown_(std::move(shown)) {}

  UniqueFd root_;
  std::string shown_;  // the folder as it stands in messages
};

}  // namespace slipway::data
