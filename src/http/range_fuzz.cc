// A part always lies within the content.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "http/range.h"

using namespace slipway::http;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t content = 0;
  if (size < sizeof content) return 0;
  std::memcpy(&content, data, sizeof content);
  const std::string_view text(reinterpret_cast<const char*>(data) + sizeof content, size - sizeof content);
  for (const std::string_view header : {text, std::string_view("bytes=-1")}) {
    const ByteRange range = parse_range(header, content);
    if (range.kind == ByteRange::Kind::kPart &&
        (range.length == 0 || range.offset >= content || range.length > content - range.offset))
      std::abort();
  }
  return 0;
}
