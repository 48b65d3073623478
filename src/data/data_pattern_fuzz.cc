// Patterns of datasets: no pattern is slow, and a path without wildcards matches itself alone. Delimited text
// gives no more rows than were asked for.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/log.h"
#include "data/preview.h"
#include "snapshot/glob.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace slipway;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const size_t line = text.find('\n');
  const std::string_view pattern = text.substr(0, line);
  const std::string_view path = line == std::string_view::npos ? pattern : text.substr(line + 1);
  const snapshot::Glob glob(pattern, snapshot::Slashes::kSeparator);
  const bool matches = glob.matches(path);
  if (pattern.find_first_of("*?[\\") == std::string_view::npos && matches != (pattern == path))
    abort_because("a pattern without wildcards matched something else");
  if (data::split_delimited(text, ',', (size & 1) != 0, 3).size() > 3) abort_because("too many rows");
  return 0;
}
