// Whatever the pieces, the same elements come of the same bytes, and each begins and ends as an object.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "compute/engines/slurm/array_scanner.h"

namespace {

std::vector<std::string> elements(std::string_view text, size_t piece) {
  std::vector<std::string> found;
  const std::function<void(std::string_view)> take = [&](std::string_view element) {
    if (element.size() < 2 || element.front() != '{') std::abort();
    found.emplace_back(element);
  };
  slipway::compute::ArrayScanner scanner("jobs", take);
  for (size_t at = 0; at < text.size(); at += piece)
    if (!scanner.feed(text.substr(at, piece))) break;
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size > 0 && elements(text, size) != elements(text, 3)) std::abort();
  return 0;
}
