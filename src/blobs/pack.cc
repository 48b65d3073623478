#include "blobs/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace slipway::blobs {
namespace {

constexpr uint64_t kLargeBytes = 1 << 20;
constexpr size_t kGatheredBytes = 8 << 20;
constexpr size_t kGatheredBlobs = 1024;

}  // namespace

std::string pack_header(const Digest& digest, uint64_t size) {
  std::string header(reinterpret_cast<const char*>(digest.bytes().data()), digest.bytes().size());
  for (int i = 0; i < 8; ++i) header += static_cast<char>(size >> (8 * i) & 0xff);
  return header;
}

Status PackParser::header_complete() {
  std::array<unsigned char, 32> digest{};
  std::memcpy(digest.data(), header_.data(), digest.size());
  uint64_t size = 0;
  for (size_t i = 0; i < 8; ++i) size |= uint64_t{static_cast<unsigned char>(header_[32 + i])} << (8 * i);
  if (size > blob_limit_)
    return fail(ErrorCode::kTooLarge, fmt::format("a blob of {} bytes is too large for a pack", size),
                "send it by itself");
  SLIPWAY_TRY(sink_.begin(Digest(digest), size));
  left_ = size;
  if (left_ > 0) return {};
  header_filled_ = 0;
  return sink_.end();
}

Status PackParser::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (header_filled_ < kPackHeaderSize) {
      const size_t count = std::min(bytes.size(), kPackHeaderSize - header_filled_);
      std::memcpy(header_.data() + header_filled_, bytes.data(), count);
      header_filled_ += count;
      bytes.remove_prefix(count);
      if (header_filled_ == kPackHeaderSize) SLIPWAY_TRY(header_complete());
      continue;
    }
    const size_t count = static_cast<size_t>(std::min<uint64_t>(bytes.size(), left_));
    SLIPWAY_TRY(sink_.bytes(bytes.substr(0, count)));
    bytes.remove_prefix(count);
    left_ -= count;
    if (left_ > 0) continue;
    header_filled_ = 0;
    SLIPWAY_TRY(sink_.end());
  }
  return {};
}

Status PackParser::finish() const {
  if (header_filled_ == 0) return {};
  return fail(ErrorCode::kInvalidArgument, "the pack ends in the middle of a blob", "send it again");
}

Status PackReceiver::begin(const Digest& digest, uint64_t size) {
  if (size >= kLargeBytes) {
    SLIPWAY_ASSIGN(large_, store_.begin(digest));
    if (large_->offset() == 0) return {};
    // An interrupted upload left its beginning here; a pack always brings the whole.
    large_.reset();
    SLIPWAY_ASSIGN(large_, store_.begin(digest));
    return {};
  }
  gathered_.push_back({digest, {}});
  gathered_.back().content.reserve(static_cast<size_t>(size));
  return {};
}

Status PackReceiver::bytes(std::string_view bytes) {
  if (large_) return large_->append(bytes);
  gathered_.back().content += bytes;
  gathered_bytes_ += bytes.size();
  return {};
}

Status PackReceiver::end() {
  if (large_) {
    SLIPWAY_ASSIGN(const Digest digest, large_->finish());
    large_.reset();
    stored_.push_back(digest);
    return {};
  }
  if (gathered_bytes_ < kGatheredBytes && gathered_.size() < kGatheredBlobs) return {};
  return flush();
}

Status PackReceiver::flush() {
  SLIPWAY_TRY(store_.put_all(gathered_));
  for (const NamedContent& blob : gathered_) stored_.push_back(blob.digest);
  gathered_.clear();
  gathered_bytes_ = 0;
  return {};
}

Status PackReceiver::finish() {
  return flush();
}

}  // namespace slipway::blobs
