// Any bytes as a metrics payload: what is taken comes back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "journal/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto points = slipway::journal::parse_metrics(bytes);
  if (points && slipway::journal::encode_metrics(*points) != bytes) std::abort();
  return 0;
}
