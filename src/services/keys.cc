#include "services/keys.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <charconv>

#include "base/random.h"

namespace slipway::services {
namespace {

constexpr std::string_view kTokenPrefix = "slws_";

std::string signature_of(std::string_view text, const Secret& key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  ::HMAC(::EVP_sha256(), key.reveal().data(), static_cast<int>(key.reveal().size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &size);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", bytes[i]);
  return hex;
}

}  // namespace

Secret new_key() {
  return Secret(random_base32(40));
}

bool same_key(std::string_view a, std::string_view b) {
  return !a.empty() && a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Secret make_token(const Secret& key, Timestamp expires) {
  const std::string until = std::to_string(expires.micros / 1'000'000);
  return Secret(fmt::format("{}{}_{}", kTokenPrefix, until, signature_of(until, key)));
}

bool is_good_token(std::string_view token, const Secret& key, Timestamp now) {
  if (key.empty() || !token.starts_with(kTokenPrefix)) return false;
  token.remove_prefix(kTokenPrefix.size());
  const size_t end = token.find('_');
  if (end == std::string_view::npos) return false;
  const std::string_view until = token.substr(0, end);
  int64_t seconds = 0;
  const auto [stop, error] = std::from_chars(until.data(), until.data() + until.size(), seconds);
  if (error != std::errc() || stop != until.data() + until.size()) return false;
  return same_key(token.substr(end + 1), signature_of(until, key)) && seconds > now.micros / 1'000'000;
}

}  // namespace slipway::services
