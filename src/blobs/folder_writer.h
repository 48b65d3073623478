// An upload into a BlobFolder: `.partial/<digest>`, locked for as long as it lasts, so that two uploads of
// one digest never mix, not even from two processes.
#pragma once

#include <memory>
#include <string>

#include "blobs/blob_folder.h"
#include "blobs/blob_store.h"

namespace slipway::blobs {

class FolderWriter final : public BlobWriter {
 public:
  static Result<std::unique_ptr<BlobWriter>> begin(BlobFolder& folder, const Digest& expected);
  ~FolderWriter() override;

  Status append(std::string_view bytes) override;
  uint64_t offset() const override { return offset_; }
  void suspend() override { fd_.reset(); }
  Result<Digest> finish() override;

 private:
  FolderWriter(BlobFolder& folder, const Digest& expected, UniqueFd fd)
      : folder_(folder),
        hold_(folder.hold()),
        expected_(expected),
        name_(expected.hex()),
        fd_(std::move(fd)) {}

  Status hash_what_is_held();
  void drop();

  BlobFolder& folder_;
  const std::unique_ptr<Hold> hold_;
  const Digest expected_;
  const std::string name_;
  UniqueFd fd_;  // holds the lock; none once the upload is over
  Hasher hasher_;
  uint64_t offset_ = 0;
  uint64_t written_back_ = 0;  // bytes whose way to the disk has been started
};

}  // namespace slipway::blobs
