// Whatever the bytes and however they are cut: the same blobs come out, and never more bytes than went in.
#include <cstdint>
#include <cstdlib>

#include "blobs/pack.h"

namespace {

using slipway::Digest;
using slipway::Status;

struct Counter final : slipway::blobs::PackSink {
  uint64_t begun = 0;
  uint64_t ended = 0;
  uint64_t claimed = 0;
  uint64_t taken = 0;
  Status begin(const Digest&, uint64_t size) override {
    if (begun != ended || size > 1 << 16) std::abort();
    ++begun;
    claimed = size;
    taken = 0;
    return {};
  }
  Status bytes(std::string_view bytes) override {
    if (bytes.empty()) std::abort();
    taken += bytes.size();
    if (begun != ended + 1 || taken > claimed) std::abort();
    return {};
  }
  Status end() override {
    if (begun != ended + 1 || taken != claimed) std::abort();
    ++ended;
    return {};
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = 1 + data[0] % 64;
  const std::string_view pack(reinterpret_cast<const char*>(data) + 1, size - 1);
  Counter whole;
  slipway::blobs::PackParser at_once(whole, 1 << 16);
  const bool whole_ok = at_once.feed(pack).has_value();
  Counter cut;
  slipway::blobs::PackParser by_pieces(cut, 1 << 16);
  bool cut_ok = true;
  for (size_t at = 0; at < pack.size() && cut_ok; at += piece)
    cut_ok = by_pieces.feed(pack.substr(at, piece)).has_value();
  if (whole_ok != cut_ok || whole.begun != cut.begun || whole.ended != cut.ended) std::abort();
  if (whole_ok && at_once.finish().has_value() != by_pieces.finish().has_value()) std::abort();
  return 0;
}
