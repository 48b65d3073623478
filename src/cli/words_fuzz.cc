#include <cstdlib>

#include "cli/words.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway::cli;
  const auto words = split_words({reinterpret_cast<const char*>(data), size});
  if (!words) return 0;
  const auto again = split_words(join_words(*words));
  if (!again || *again != *words) std::abort();
  return 0;
}
