#include "serving/runtimes/wire.h"

namespace slipway::serving {
namespace {

// The wire types of a field's key.
constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kDelimited = 2;
constexpr uint32_t kFixed32 = 5;

}  // namespace

std::nullopt_t WireReader::stop() {
  broken_ = true;
  rest_ = {};
  return std::nullopt;
}

std::optional<uint64_t> WireReader::varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) return std::nullopt;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

std::optional<uint64_t> WireReader::fixed(size_t width) {
  if (rest_.size() < width) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(rest_[i]);
  rest_.remove_prefix(width);
  return value;
}

std::optional<WireField> WireReader::next() {
  if (rest_.empty()) return std::nullopt;
  const auto key = varint();
  if (!key || *key >> 3 == 0 || *key >> 32 != 0) return stop();
  WireField field;
  field.number = static_cast<uint32_t>(*key >> 3);
  const auto type = static_cast<uint32_t>(*key & 7);
  if (type == kDelimited) {
    const auto length = varint();
    if (!length || *length > rest_.size()) return stop();
    field.delimited = true;
    field.bytes = rest_.substr(0, *length);
    rest_.remove_prefix(*length);
    return field;
  }
  std::optional<uint64_t> value;
  if (type == kVarint) value = varint();
  if (type == kFixed64) value = fixed(8);
  if (type == kFixed32) value = fixed(4);
  if (!value) return stop();
  field.value = *value;
  return field;
}

}  // namespace slipway::serving
