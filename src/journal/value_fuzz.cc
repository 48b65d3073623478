// A values record: whatever is taken comes back the same.
#include <cstdlib>

#include "journal/value.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway::journal;
  const auto values = parse_values({reinterpret_cast<const char*>(data), size});
  if (!values) return 0;
  const std::string made = encode_values(*values);
  const auto again = parse_values(made);
  if (!again || encode_values(*again) != made) std::abort();
  return 0;
}
