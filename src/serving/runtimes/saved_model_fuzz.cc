#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "serving/runtimes/saved_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto model = slipway::serving::read_saved_model({reinterpret_cast<const char*>(data), size});
  if (model && model->signatures.front().outputs.empty()) std::abort();
  return 0;
}
