#include "serving/wire.h"

#include <bit>

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

std::optional<uint64_t> take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) return std::nullopt;
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
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
  const auto key = take_varint(rest_);
  if (!key || *key >> 3 == 0 || *key >> 32 != 0) return stop();
  WireField field;
  field.number = static_cast<uint32_t>(*key >> 3);
  const auto type = static_cast<uint32_t>(*key & 7);
  if (type == kDelimited) {
    const auto length = take_varint(rest_);
    if (!length || *length > rest_.size()) return stop();
    field.delimited = true;
    field.bytes = rest_.substr(0, *length);
    rest_.remove_prefix(*length);
    return field;
  }
  std::optional<uint64_t> value;
  if (type == kVarint) value = take_varint(rest_);
  if (type == kFixed64) value = fixed(8);
  if (type == kFixed32) value = fixed(4);
  if (!value) return stop();
  field.value = *value;
  return field;
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

size_t varint_size(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

void append_whole(std::string& out, uint32_t number, uint64_t value) {
  if (value == 0) return;
  append_varint(out, number << 3 | kVarint);
  append_varint(out, value);
}

void append_float(std::string& out, uint32_t number, float value) {
  append_varint(out, number << 3 | kFixed32);
  const auto bits = std::bit_cast<uint32_t>(value);
  out.append(reinterpret_cast<const char*>(&bits), sizeof bits);
}

void append_head(std::string& out, uint32_t number, size_t size) {
  append_varint(out, number << 3 | kDelimited);
  append_varint(out, size);
}

void append_field(std::string& out, uint32_t number, std::string_view bytes) {
  append_head(out, number, bytes.size());
  out += bytes;
}

}  // namespace slipway::serving
