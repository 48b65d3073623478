#include "serving/key_authoriser.h"

#include <openssl/crypto.h>

#include <string_view>

#include "http/message.h"

namespace slipway::serving {
namespace {

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

Result<http::Caller> KeyAuthoriser::authorise(const http::Request& request, http::Access needed) {
  http::Caller caller;
  if (needed == http::Access::kPublic || keys_.empty()) return caller;
  constexpr std::string_view kBearer = "Bearer ";
  const auto given = request.headers.find("authorization");
  if (given != request.headers.end() && given->second.starts_with(kBearer)) {
    const std::string_view key = std::string_view(given->second).substr(kBearer.size());
    bool known = false;
    for (const Secret& one : keys_) known = same(one.reveal(), key) || known;
    if (known) {
      caller.kind = http::CallerKind::kUser;
      return caller;
    }
  }
  return fail(
      ErrorCode::kUnauthenticated,
      given == request.headers.end() ? "this service asks for a key" : "this service does not know that key",
      "send it in the header: Authorization: Bearer KEY");
}

}  // namespace slipway::serving
