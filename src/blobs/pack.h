// Small blobs on the wire, one after the other: 32 bytes digest, 8 bytes size (little-endian), the bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "blobs/blob_store.h"

namespace slipway::blobs {

constexpr size_t kPackHeaderSize = 40;

// What stands before the bytes of a blob.
std::string pack_header(const Digest& digest, uint64_t size);

// Takes the blobs of a pack in order: one `begin`, any number of `bytes`, one `end` for each.
class PackSink {
 public:
  virtual ~PackSink() = default;
  virtual Status begin(const Digest& digest, uint64_t size) = 0;
  virtual Status bytes(std::string_view bytes) = 0;
  virtual Status end() = 0;
};

// Cuts a pack into its blobs. Holds no more than one header; digests are the sink's to check. An error of the
// sink ends it.
class PackParser {
 public:
  // `blob_limit`: the largest size a header may claim; beyond it kTooLarge.
  PackParser(PackSink& sink, uint64_t blob_limit) : sink_(sink), blob_limit_(blob_limit) {}

  Status feed(std::string_view bytes);
  // kInvalidArgument when the pack ends inside a blob.
  Status finish() const;

 private:
  Status header_complete();

  PackSink& sink_;
  const uint64_t blob_limit_;
  std::array<char, kPackHeaderSize> header_{};
  size_t header_filled_ = 0;
  uint64_t left_ = 0;  // bytes of the blob in hand
};

// Stores what a pack brings: small blobs gathered and synced together, a large one by itself as it comes.
// `stored` is right after `finish`; a pack that ends badly has stored a part of its blobs, whole ones only.
class PackReceiver final : public PackSink {
 public:
  explicit PackReceiver(BlobStore& store) : store_(store), hold_(store.hold()) {}

  Status begin(const Digest& digest, uint64_t size) override;
  Status bytes(std::string_view bytes) override;
  Status end() override;
  Status finish();

  // Those that are durable, in the order of the pack.
  const std::vector<Digest>& stored() const { return stored_; }

 private:
  Status flush();

  BlobStore& store_;
  const std::unique_ptr<Hold> hold_;
  std::vector<NamedContent> gathered_;
  size_t gathered_bytes_ = 0;
  std::unique_ptr<BlobWriter> large_;
  std::vector<Digest> stored_;
};

}  // namespace slipway::blobs
