#include "base/hmac.h"

#include "base/digest.h"

namespace slipway {
namespace {

constexpr size_t kBlock = 64;

std::string hash(std::string_view first, std::string_view second) {
  Hasher hasher;
  hasher.update(first);
  hasher.update(second);
  const Digest digest = hasher.finish();
  return {reinterpret_cast<const char*>(digest.bytes().data()), digest.bytes().size()};
}

std::string padded_with(std::string key, char pad) {
  key.resize(kBlock, '\0');
  for (char& c : key) c = static_cast<char>(c ^ pad);
  return key;
}

}  // namespace

std::string hmac_sha256(const Secret& key, std::string_view message) {
  const std::string short_key = key.reveal().size() > kBlock ? hash(key.reveal(), "") : key.reveal();
  const std::string inner = hash(padded_with(short_key, 0x36), message);
  Hasher outer;
  outer.update(padded_with(short_key, 0x5c));
  outer.update(inner);
  return outer.finish().hex();
}

bool same_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return different == 0;
}

}  // namespace slipway
