// A launcher that was read is written as something that reads the same.
#include "protocol/launcher.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto launcher = slipway::parse_launcher({reinterpret_cast<const char*>(data), size});
  if (!launcher) return 0;
  const auto again = slipway::parse_launcher(slipway::to_text(*launcher));
  if (!again || *again != *launcher) std::abort();
  return 0;
}
