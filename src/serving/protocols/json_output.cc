#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/base64.h"
#include "base/utf8.h"
#include "serving/protocols/json_tensor.h"

namespace slipway::serving {
namespace {

template <class T>
void append_real(std::string& out, T value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
  } else {
    std::array<char, 40> text;
    const char* end = fmt::format_to(text.data(), "{}", value);
    const std::string_view written(text.data(), static_cast<size_t>(end - text.data()));
    out += written;
    if (written.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

void append_bytes(std::string& out, const SlipwayBytes& bytes, BytesAs as) {
  const std::string_view text(bytes.data, bytes.size);
  if (as == BytesAs::kText && is_utf8(text)) return append_json_text(out, text);
  out += "{\"b64\":\"";
  out += to_base64(text);
  out += "\"}";
}

template <class T, class Append>
void append_leaves(std::string& out, const char* data, size_t count, Append append) {
  const auto* values = reinterpret_cast<const T*>(data);
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    append(values[i]);
  }
}

template <class T>
void append_whole(std::string& out, const char* data, size_t count) {
  append_leaves<T>(out, data, count, [&](T value) {
    std::array<char, 24> text;
    out.append(text.data(), fmt::format_to(text.data(), "{}", static_cast<int64_t>(value)));
  });
}

// `count` values side by side.
void append_values(std::string& out, DataType type, const char* data, size_t count, BytesAs bytes) {
  switch (type) {
    case DataType::kFp32:
      return append_leaves<float>(out, data, count, [&](float v) { append_real(out, v); });
    case DataType::kFp64:
      return append_leaves<double>(out, data, count, [&](double v) { append_real(out, v); });
    case DataType::kFp16:
      return append_leaves<uint16_t>(out, data, count,
                                     [&](uint16_t v) { append_real(out, half_to_float(v)); });
    case DataType::kBool:
      return append_leaves<uint8_t>(out, data, count, [&](uint8_t v) { out += v != 0 ? "true" : "false"; });
    case DataType::kUint8: return append_whole<uint8_t>(out, data, count);
    case DataType::kUint16: return append_whole<uint16_t>(out, data, count);
    case DataType::kUint32: return append_whole<uint32_t>(out, data, count);
    case DataType::kUint64:
      return append_leaves<uint64_t>(out, data, count, [&](uint64_t v) { out += fmt::to_string(v); });
    case DataType::kInt8: return append_whole<int8_t>(out, data, count);
    case DataType::kInt16: return append_whole<int16_t>(out, data, count);
    case DataType::kInt32: return append_whole<int32_t>(out, data, count);
    case DataType::kInt64: return append_whole<int64_t>(out, data, count);
    case DataType::kBytes:
      return append_leaves<SlipwayBytes>(out, data, count,
                                         [&](const SlipwayBytes& v) { append_bytes(out, v, bytes); });
  }
}

struct Place {
  DataType type;
  size_t element;
  BytesAs bytes;
};

void append_nested(std::string& out, const Place& place, std::span<const int64_t> shape, const char* data,
                   size_t size) {
  if (shape.empty()) return append_values(out, place.type, data, size / place.element, place.bytes);
  out += '[';
  if (shape.size() == 1) {
    append_values(out, place.type, data, size / place.element, place.bytes);
  } else {
    const auto count = static_cast<size_t>(shape[0]);
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) out += ',';
      append_nested(out, place, shape.subspan(1), data + size / count * i, size / count);
    }
  }
  out += ']';
}

}  // namespace

void append_tensor(std::string& out, const TensorView& tensor, Nesting nesting, BytesAs bytes) {
  const Place place{.type = tensor.type, .element = size_of(tensor.type), .bytes = bytes};
  const int64_t flat = static_cast<int64_t>(tensor.count());
  const std::span<const int64_t> shape =
      nesting == Nesting::kFlat ? std::span<const int64_t>(&flat, 1) : tensor.shape;
  append_nested(out, place, shape, tensor.data, tensor.bytes);
}

void append_row(std::string& out, const TensorView& tensor, int64_t row, BytesAs bytes) {
  const Place place{.type = tensor.type, .element = size_of(tensor.type), .bytes = bytes};
  const size_t size = tensor.bytes / static_cast<size_t>(tensor.shape[0]);
  append_nested(out, place, tensor.shape.subspan(1), tensor.data + size * static_cast<size_t>(row), size);
}

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void append_number(std::string& out, double value) {
  append_real(out, value);
}
void append_number(std::string& out, float value) {
  append_real(out, value);
}

}  // namespace slipway::serving
