// Whatever the text: it is refused, or it is exactly the token that its parts make.
#include <cstdint>
#include <cstdlib>

#include "access/token.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto token = slipway::access::parse_token(text);
  if (!token) return 0;
  if ("slw_" + token->id.str() + "_" + token->secret.reveal() != text) std::abort();
  return 0;
}
