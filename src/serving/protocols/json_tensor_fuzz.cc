// The first byte chooses the type; the rest is the JSON of a tensor. What is accepted has a size that fits
// its shape, and reads the same once written.
#include <cstdlib>
#include <string>

#include "serving/protocols/json_tensor.h"

using namespace slipway::serving;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto type = static_cast<DataType>(data[0] % 13 + 1);
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  {
    JsonReader reader(text);
    (void)(reader.skip() && reader.finish());
  }
  JsonReader reader(text);
  auto tensor = read_tensor(reader, type);
  if (!tensor) return 0;
  if (element_count(tensor->shape, kMaxElements) != tensor->elements.size() / size_of(type)) std::abort();
  const TensorView view{.name = "x",
                        .type = type,
                        .shape = tensor->shape,
                        .data = tensor->elements.data(),
                        .bytes = tensor->elements.size()};
  std::string first;
  append_tensor(first, view, Nesting::kNested);
  JsonReader again(first);
  auto second = read_tensor(again, type);
  if (!second || second->shape != tensor->shape) std::abort();
  return 0;
}
