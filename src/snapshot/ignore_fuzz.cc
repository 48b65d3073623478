// No ignore file makes the matcher crash or crawl, whatever the path.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "snapshot/ignore.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway::snapshot;
  // The first byte says how long the path is; the rest is the file.
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view path = bytes.substr(0, data[0]);
  const IgnoreFile file(bytes.substr(path.size()));
  if (path.empty()) return 0;
  const bool as_file = file.check(path, false) == Verdict::kIgnored;
  const bool as_folder = file.check(path, true) == Verdict::kIgnored;
  const IgnoreScope scope(nullptr, "", file);
  if (scope.ignores(path, false) != as_file || scope.ignores(path, true) != as_folder) __builtin_trap();
  return 0;
}
