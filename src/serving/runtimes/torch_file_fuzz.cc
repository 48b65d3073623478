#include <cstdint>
#include <string_view>

#include "serving/runtimes/torch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)slipway::serving::inspect_torch({reinterpret_cast<const char*>(data), size});
  return 0;
}
