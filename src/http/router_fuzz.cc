// Paths and queries from outside: never a crash, never a NUL, and encoding is the way back.
#include <cstdint>
#include <cstdlib>

#include "http/router.h"

using namespace slipway::http;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Router router = [] {
    Router made;
    const Handler none = [](const Request&) -> slipway::Result<Response> { return empty_response(); };
    for (const char* pattern :
         {"/", "/a", "/a/{x}", "/a/{x}/b", "/a/b/{y}/c", "/{any}/b", "/files/{path...}"})
      made.add(Route(Method::kGet, pattern, Access::kReader, none));
    return made;
  }();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto match = router.find(Method::kGet, text))
    for (const auto& [name, value] : match->params)
      if (value.empty() || value.contains('\0')) std::abort();
  if (const auto query = parse_query(text))
    for (const auto& [name, value] : *query)
      if (name.contains('\0') || value.contains('\0')) std::abort();
  if (!text.contains('\0') && percent_decode(percent_encode(text), true) != std::string(text)) std::abort();
  return 0;
}
