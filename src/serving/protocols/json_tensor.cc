#include "serving/protocols/json_tensor.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/base64.h"

namespace slipway::serving {
namespace {

// Values as they come, in memory that grows.
class Growing {
 public:
  explicit Growing(size_t element) : element_(element) {}

  char* add() {
    if (size_ + element_ > held_.size()) grow();
    char* place = held_.data() + size_;
    size_ += element_;
    return place;
  }
  Elements take() {
    Elements exact(size_);
    if (size_ > 0) std::memcpy(exact.data(), held_.data(), size_);
    return exact;
  }

 private:
  void grow() {
    Elements larger(std::max<size_t>(held_.size() * 2, 4096));
    if (size_ > 0) std::memcpy(larger.data(), held_.data(), size_);
    held_ = std::move(larger);
  }

  const size_t element_;
  Elements held_;
  size_t size_ = 0;
};

template <class T>
Status read_whole(JsonReader& reader, char* place) {
  bool negative = false;
  SLIPWAY_ASSIGN(const uint64_t magnitude, reader.whole(negative));
  using Limits = std::numeric_limits<T>;
  const uint64_t most = negative ? (std::is_signed_v<T> ? static_cast<uint64_t>(Limits::max()) + 1 : 0)
                                 : static_cast<uint64_t>(Limits::max());
  if (magnitude > most)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the JSON body has {}{} before byte {}, which the model's type cannot hold",
                            negative ? "-" : "", magnitude, reader.offset()),
                "send numbers of the model's type");
  const T value = static_cast<T>(negative ? ~magnitude + 1 : magnitude);
  std::memcpy(place, &value, sizeof value);
  return {};
}

template <class T>
Status store(char* place, T value) {
  std::memcpy(place, &value, sizeof value);
  return {};
}

// Reads the leaves of one tensor.
class Leaves {
 public:
  Leaves(JsonReader& reader, DataType type, Nulls nulls)
      : reader_(reader), type_(type), nulls_(nulls), values_(size_of(type)) {
    if (type == DataType::kBytes) text_ = std::make_unique<std::string>();
  }

  Status read() {
    if (type_ == DataType::kBytes) return read_bytes();
    if (nulls_ == Nulls::kNan && is_floating(type_) && reader_.take_word("null")) return put_real(NAN);
    char* place = values_.add();
    switch (type_) {
      case DataType::kFp32: {
        SLIPWAY_ASSIGN(const double value, reader_.number());
        return store(place, static_cast<float>(value));
      }
      case DataType::kFp64: {
        SLIPWAY_ASSIGN(const double value, reader_.number());
        return store(place, value);
      }
      case DataType::kFp16: {
        SLIPWAY_ASSIGN(const double value, reader_.number());
        return store(place, float_to_half(static_cast<float>(value)));
      }
      case DataType::kBool: {
        SLIPWAY_ASSIGN(const bool value, reader_.boolean());
        return store(place, value);
      }
      case DataType::kUint8: return read_whole<uint8_t>(reader_, place);
      case DataType::kUint16: return read_whole<uint16_t>(reader_, place);
      case DataType::kUint32: return read_whole<uint32_t>(reader_, place);
      case DataType::kUint64: return read_whole<uint64_t>(reader_, place);
      case DataType::kInt8: return read_whole<int8_t>(reader_, place);
      case DataType::kInt16: return read_whole<int16_t>(reader_, place);
      case DataType::kInt32: return read_whole<int32_t>(reader_, place);
      case DataType::kInt64: return read_whole<int64_t>(reader_, place);
      case DataType::kBytes: break;
    }
    return {};
  }

  // Plain numbers with their commas, as many as there are; 0 for types that are not read this way.
  size_t read_plain() {
    if (type_ == DataType::kFp32)
      return reader_.plain_numbers(
          [this](double value) { (void)store(values_.add(), static_cast<float>(value)); });
    if (type_ == DataType::kFp64)
      return reader_.plain_numbers([this](double value) { (void)store(values_.add(), value); });
    return 0;
  }

  Tensor take(Shape shape) {
    Tensor tensor{
        .type = type_, .shape = std::move(shape), .elements = values_.take(), .text = std::move(text_)};
    if (type_ != DataType::kBytes) return tensor;
    // The text has stopped to move: now it can be pointed at.
    auto* strings = tensor.elements.as<SlipwayBytes>();
    const char* at = tensor.text->data();
    for (size_t i = 0; i < ends_.size(); ++i) {
      const char* end = tensor.text->data() + ends_[i];
      strings[i] = {at, static_cast<size_t>(end - at)};
      at = end;
    }
    return tensor;
  }

 private:
  Status put_real(double value) {
    char* place = values_.add();
    if (type_ == DataType::kFp64) return store(place, value);
    if (type_ == DataType::kFp16) return store(place, float_to_half(static_cast<float>(value)));
    return store(place, static_cast<float>(value));
  }

  Status read_bytes() {
    if (reader_.peek() == '{') {
      SLIPWAY_TRY(reader_.object([&](const std::string& key) -> Status {
        if (key != "b64") return reader_.wrong("the one member \"b64\"");
        SLIPWAY_ASSIGN(const std::string encoded, reader_.string());
        SLIPWAY_ASSIGN(const std::string bytes, from_base64(encoded));
        *text_ += bytes;
        return {};
      }));
    } else {
      SLIPWAY_ASSIGN(const std::string value, reader_.string());
      *text_ += value;
    }
    values_.add();
    ends_.push_back(text_->size());
    return {};
  }

  JsonReader& reader_;
  const DataType type_;
  const Nulls nulls_;
  Growing values_;
  std::unique_ptr<std::string> text_;
  std::vector<size_t> ends_;
};

// Follows the brackets and learns the shape from the first list at each depth.
class Nested {
 public:
  Nested(JsonReader& reader, Leaves& leaves) : reader_(reader), leaves_(leaves) {}

  Result<Shape> read() {
    SLIPWAY_TRY(value(0));
    return shape_;
  }

 private:
  Status value(size_t depth) {
    if (reader_.peek() != '[') {
      if (leaf_depth_ && *leaf_depth_ != depth) return uneven("a value where other lists have a list");
      leaf_depth_ = depth;
      return leaves_.read();
    }
    if (depth >= static_cast<size_t>(JsonReader::kMaxDepth))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the JSON body is nested deeper than {}", JsonReader::kMaxDepth));
    if (leaf_depth_ && *leaf_depth_ <= depth) return uneven("a list where other lists have a value");
    const bool first = shape_.size() <= depth;
    if (first) shape_.push_back(0);
    int64_t count = 0;
    SLIPWAY_TRY(reader_.array([&]() -> Status {
      if (!leaf_depth_ || *leaf_depth_ == depth + 1) {
        const size_t plain = leaves_.read_plain();
        if (plain > 0) leaf_depth_ = depth + 1;
        count += static_cast<int64_t>(plain);
      }
      ++count;
      return value(depth + 1);
    }));
    if (first) {
      shape_[depth] = count;
    } else if (shape_[depth] != count) {
      return uneven(fmt::format("{} values where the first list at this depth has {}", count, shape_[depth]));
    }
    if (count == 0 && !leaf_depth_) leaf_depth_ = depth + 1;
    return {};
  }

  Status uneven(std::string_view what) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the lists in the JSON body are uneven: the one that ends before byte {} has {}",
                            reader_.offset(), what),
                "send rows of equal length");
  }

  JsonReader& reader_;
  Leaves& leaves_;
  Shape shape_;
  std::optional<size_t> leaf_depth_;
};

}  // namespace

Result<Tensor> read_tensor(JsonReader& reader, DataType type, Nulls nulls) {
  Leaves leaves(reader, type, nulls);
  SLIPWAY_ASSIGN(Shape shape, Nested(reader, leaves).read());
  return leaves.take(std::move(shape));
}

Result<Tensor> read_tensor(JsonReader& reader, DataType type, Shape shape) {
  const auto wanted = element_count(shape, kMaxElements);
  if (!wanted)
    return fail(ErrorCode::kInvalidArgument, fmt::format("the shape {} is not possible", to_text(shape)),
                fmt::format("send at most {} elements", kMaxElements));
  SLIPWAY_ASSIGN(Tensor tensor, read_tensor(reader, type));
  const size_t found = tensor.elements.size() / size_of(type);
  if (found != *wanted)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the shape {} has {} elements and the data {}", to_text(shape), *wanted, found),
                "send as many elements as the shape says");
  tensor.shape = std::move(shape);
  return tensor;
}

}  // namespace slipway::serving
