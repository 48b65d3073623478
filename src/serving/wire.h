// Protocol buffer messages, field by field, without the library: the little that is read of a model's files,
// and the messages of gRPC. Reading checks everything against the end of the bytes and copies nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace slipway::serving {

struct WireField {
  uint32_t number = 0;
  uint64_t value = 0;      // of a varint or a fixed-width field
  std::string_view bytes;  // of a length-delimited one: text, bytes or a message
  bool delimited = false;
};

// `for (WireReader reader(bytes); const auto field = reader.next();)`
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // nullopt at the end, or where the bytes are no message: `broken` tells which.
  std::optional<WireField> next();
  bool broken() const { return broken_; }

 private:
  std::optional<uint64_t> fixed(size_t width);
  std::nullopt_t stop();

  std::string_view rest_;
  bool broken_ = false;
};

// The varint at the beginning of `bytes`, which it is taken from; nullopt when there is none.
std::optional<uint64_t> take_varint(std::string_view& bytes);

void append_varint(std::string& out, uint64_t value);
// A field of numbers is left out by its writer when it is 0, as the format wants it.
void append_whole(std::string& out, uint32_t number, uint64_t value);
void append_float(std::string& out, uint32_t number, float value);
// Text, bytes or a message.
void append_field(std::string& out, uint32_t number, std::string_view bytes);
// What stands before `size` bytes of such a field, for whoever appends them himself.
void append_head(std::string& out, uint32_t number, size_t size);
// How many bytes a varint has.
size_t varint_size(uint64_t value);

}  // namespace slipway::serving
