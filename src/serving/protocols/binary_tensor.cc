#include "serving/protocols/binary_tensor.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "serving/protocols/json_tensor.h"

namespace slipway::serving {
namespace {

static_assert(std::endian::native == std::endian::little, "raw tensors are little-endian, and so must we be");

std::unexpected<Error> wrong_size(const Shape& shape, DataType type, size_t bytes) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("a tensor of type {} and shape {} does not have {} bytes", to_text(type),
                          to_text(shape), bytes),
              "send as many bytes as the shape says");
}

Result<Tensor> read_texts(std::string_view bytes, Shape shape, size_t count) {
  // Each element has at least its length: so no more is allocated than has been sent.
  if (count > bytes.size() / sizeof(uint32_t)) return wrong_size(shape, DataType::kBytes, bytes.size());
  Tensor tensor{
      .type = DataType::kBytes, .shape = {}, .elements = Elements(count * sizeof(SlipwayBytes)), .text = {}};
  tensor.text = std::make_unique<std::string>(bytes);
  auto* strings = tensor.elements.as<SlipwayBytes>();
  std::string_view rest = *tensor.text;
  for (size_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    if (rest.size() < sizeof length) return wrong_size(shape, DataType::kBytes, bytes.size());
    std::memcpy(&length, rest.data(), sizeof length);
    rest.remove_prefix(sizeof length);
    if (rest.size() < length) return wrong_size(shape, DataType::kBytes, bytes.size());
    strings[i] = {rest.data(), length};
    rest.remove_prefix(length);
  }
  if (!rest.empty()) return wrong_size(shape, DataType::kBytes, bytes.size());
  tensor.shape = std::move(shape);
  return tensor;
}

}  // namespace

Result<Tensor> read_binary(std::string_view bytes, DataType type, Shape shape) {
  const auto count = element_count(shape, kMaxElements);
  if (!count) return wrong_size(shape, type, bytes.size());
  if (type == DataType::kBytes) return read_texts(bytes, std::move(shape), *count);
  if (*count * size_of(type) != bytes.size()) return wrong_size(shape, type, bytes.size());
  Tensor tensor{.type = type, .shape = std::move(shape), .elements = Elements(bytes.size()), .text = nullptr};
  if (!bytes.empty()) std::memcpy(tensor.elements.data(), bytes.data(), bytes.size());
  // Any byte would do, and the frameworks trust it to be 0 or 1.
  if (type == DataType::kBool)
    for (size_t i = 0; i < bytes.size(); ++i) tensor.elements.data()[i] = bytes[i] != 0 ? 1 : 0;
  return tensor;
}

size_t binary_size(const TensorView& tensor) {
  if (tensor.type != DataType::kBytes) return tensor.bytes;
  size_t size = 0;
  for (const SlipwayBytes& text : tensor.as<SlipwayBytes>()) size += sizeof(uint32_t) + text.size;
  return size;
}

void append_binary(std::string& out, const TensorView& tensor) {
  if (tensor.type != DataType::kBytes) {
    out.append(tensor.data, tensor.bytes);
    return;
  }
  for (const SlipwayBytes& text : tensor.as<SlipwayBytes>()) {
    const auto length = static_cast<uint32_t>(text.size);
    out.append(reinterpret_cast<const char*>(&length), sizeof length);
    out.append(text.data, text.size);
  }
}

}  // namespace slipway::serving
