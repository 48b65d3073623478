// Any bytes as a log payload: what is taken comes back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "journal/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto chunk = slipway::journal::parse_log(bytes);
  if (chunk && slipway::journal::encode_log(*chunk) != bytes) std::abort();
  return 0;
}
