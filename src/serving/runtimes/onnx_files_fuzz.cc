#include <cstdint>
#include <string_view>

#include "serving/runtimes/onnx_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)slipway::serving::external_files({reinterpret_cast<const char*>(data), size});
  return 0;
}
