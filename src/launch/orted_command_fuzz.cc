// Whatever mpirun's command holds, no word of it gets through that is not an argument of orted.
#include "launch/orted_command.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto arguments = slipway::launch::orted_arguments({text});
  if (arguments)
    for (const std::string& argument : *arguments)
      if (argument == ";" || argument == "|" || argument == "&&") std::abort();
  (void)slipway::launch::failed_rank_in(text);
  return 0;
}
