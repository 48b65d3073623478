#include "serving/protocols/wire_tensor.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <vector>

#include "serving/protocols/json_tensor.h"
#include "serving/wire.h"

namespace slipway::serving {
namespace {

// What a few bytes may grow to by repeating the last value.
constexpr size_t kMaxRepeatedBytes = 64 << 20;

std::unexpected<Error> wrong_number(const Shape& shape, size_t found) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("a tensor of shape {} does not have {} elements", to_text(shape), found),
              "send as many as the shape says");
}

std::unexpected<Error> broken() {
  return fail(ErrorCode::kInvalidArgument, "the elements of a tensor are no message", "check the client");
}

// Stores one whole number as an element; false where it does not fit.
template <class T>
bool store_as(char* at, uint64_t value) {
  const T narrow = static_cast<T>(value);
  std::memcpy(at, &narrow, sizeof narrow);
  // Negative numbers come with all 64 bits of their sign.
  return static_cast<uint64_t>(static_cast<int64_t>(narrow)) == value ||
         static_cast<uint64_t>(narrow) == value;
}

bool store(DataType type, char* at, uint64_t value) {
  switch (type) {
    case DataType::kBool: return store_as<uint8_t>(at, value != 0 ? 1 : 0);
    case DataType::kUint8: return store_as<uint8_t>(at, value);
    case DataType::kInt8: return store_as<int8_t>(at, value);
    case DataType::kFp16:  // its bits
    case DataType::kUint16: return store_as<uint16_t>(at, value);
    case DataType::kInt16: return store_as<int16_t>(at, value);
    case DataType::kUint32:
    case DataType::kFp32: return store_as<uint32_t>(at, value);
    case DataType::kInt32: return store_as<int32_t>(at, value);
    case DataType::kUint64:
    case DataType::kInt64:
    case DataType::kFp64: return store_as<uint64_t>(at, value);
    case DataType::kBytes: break;
  }
  return false;
}

// The elements of a field as they come, into a tensor that has room for them.
class Filling {
 public:
  Filling(Tensor& tensor, size_t count) : tensor_(tensor), count_(count), size_(size_of(tensor.type)) {}

  Status take(const WireField& found, WireKind kind) {
    if (kind == WireKind::kBytes) return found.delimited ? take_text(found.bytes) : Status(broken());
    if (!found.delimited) return take_whole(found.value);
    std::string_view packed = found.bytes;
    if (kind == WireKind::kVarint) {
      while (!packed.empty()) {
        const auto value = take_varint(packed);
        if (!value) return broken();
        SLIPWAY_TRY(take_whole(*value));
      }
      return {};
    }
    const size_t width = kind == WireKind::kFixed32 ? 4 : 8;
    if (width != size_ || packed.size() % width != 0) return broken();
    const size_t more = packed.size() / width;
    if (more > count_ - filled_) return too_many();
    if (more > 0) std::memcpy(tensor_.elements.data() + filled_ * size_, packed.data(), packed.size());
    filled_ += more;
    return {};
  }

  size_t filled() const { return filled_; }

  void repeat_last() {
    char* const data = tensor_.elements.data();
    for (; filled_ < count_; ++filled_)
      std::memcpy(data + filled_ * size_, data + (filled_ - 1) * size_, size_);
  }

 private:
  std::unexpected<Error> too_many() const { return wrong_number(tensor_.shape, count_ + 1); }

  Status take_whole(uint64_t value) {
    if (filled_ == count_) return too_many();
    if (!store(tensor_.type, tensor_.elements.data() + filled_ * size_, value))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("an element of a tensor does not fit its type {}", to_text(tensor_.type)));
    ++filled_;
    return {};
  }

  Status take_text(std::string_view text) {
    if (filled_ == count_) return too_many();
    // Where it begins is said once all are there: the text moves while it grows.
    tensor_.elements.as<SlipwayBytes>()[filled_++] = {nullptr, text.size()};
    *tensor_.text += text;
    return {};
  }

  Tensor& tensor_;
  const size_t count_;
  const size_t size_;
  size_t filled_ = 0;
};

void point_into_text(Tensor& tensor, size_t texts) {
  const char* at = tensor.text->data();
  auto* strings = tensor.elements.as<SlipwayBytes>();
  for (size_t i = 0; i < texts; ++i) {
    strings[i].data = at;
    at += strings[i].size;
  }
}

template <class T>
void append_packed(std::string& out, uint32_t number, std::span<const T> values) {
  std::string packed;
  for (const T value : values) append_varint(packed, static_cast<uint64_t>(static_cast<int64_t>(value)));
  append_field(out, number, packed);
}

}  // namespace

WireKind wire_kind(DataType type) {
  if (type == DataType::kBytes) return WireKind::kBytes;
  if (type == DataType::kFp32) return WireKind::kFixed32;
  return type == DataType::kFp64 ? WireKind::kFixed64 : WireKind::kVarint;
}

Result<Tensor> read_values(std::string_view message, ValuesField field, DataType type, Shape shape,
                           Missing missing) {
  const auto count = element_count(shape, kMaxElements);
  if (!count)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is no shape of a tensor that can be held", to_text(shape)));
  const bool repeats = missing == Missing::kRepeatLast && *count * size_of(type) <= kMaxRepeatedBytes;
  // Each element takes a byte at least: so no more is allocated than has been sent.
  if (!repeats && *count > message.size()) return wrong_number(shape, message.size());
  Tensor tensor{
      .type = type, .shape = std::move(shape), .elements = Elements(*count * size_of(type)), .text = {}};
  if (type == DataType::kBytes) tensor.text = std::make_unique<std::string>();
  Filling filling(tensor, *count);
  WireReader reader(message);
  while (const auto found = reader.next())
    if (found->number == field.number) SLIPWAY_TRY(filling.take(*found, field.kind));
  if (reader.broken()) return broken();
  const size_t filled = filling.filled();
  if (filled < *count && (!repeats || filled == 0)) return wrong_number(tensor.shape, filled);
  if (tensor.text) point_into_text(tensor, filled);
  filling.repeat_last();
  return tensor;
}

void append_values(std::string& out, ValuesField field, const TensorView& tensor) {
  if (tensor.bytes == 0) return;
  switch (tensor.type) {
    case DataType::kBytes:
      for (const SlipwayBytes& text : tensor.as<SlipwayBytes>())
        append_field(out, field.number, {text.data, text.size});
      return;
    case DataType::kFp32:
    case DataType::kFp64: return append_field(out, field.number, {tensor.data, tensor.bytes});
    case DataType::kBool:
    case DataType::kUint8: return append_packed(out, field.number, tensor.as<uint8_t>());
    case DataType::kInt8: return append_packed(out, field.number, tensor.as<int8_t>());
    case DataType::kFp16:
    case DataType::kUint16: return append_packed(out, field.number, tensor.as<uint16_t>());
    case DataType::kInt16: return append_packed(out, field.number, tensor.as<int16_t>());
    case DataType::kUint32: return append_packed(out, field.number, tensor.as<uint32_t>());
    case DataType::kInt32: return append_packed(out, field.number, tensor.as<int32_t>());
    case DataType::kUint64: return append_packed(out, field.number, tensor.as<uint64_t>());
    case DataType::kInt64: return append_packed(out, field.number, tensor.as<int64_t>());
  }
}

bool read_wholes(const WireField& field, Shape& into, size_t limit) {
  if (!field.delimited) {
    into.push_back(static_cast<int64_t>(field.value));
    return into.size() <= limit;
  }
  std::string_view packed = field.bytes;
  while (!packed.empty()) {
    const auto value = take_varint(packed);
    if (!value || into.size() == limit) return false;
    into.push_back(static_cast<int64_t>(*value));
  }
  return true;
}

void append_wholes(std::string& out, uint32_t number, std::span<const int64_t> values) {
  if (!values.empty()) append_packed(out, number, values);
}

}  // namespace slipway::serving
