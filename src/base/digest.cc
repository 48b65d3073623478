#include "base/digest.h"

#include <openssl/evp.h>

#include "base/log.h"

namespace slipway {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Result<Digest> Digest::parse(std::string_view hex) {
  const auto bad = [] {
    return fail(ErrorCode::kInvalidArgument, "a digest is 64 lower-case hexadecimal digits (SHA-256)");
  };
  std::array<unsigned char, 32> bytes{};
  if (hex.size() != 64) return bad();
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_value(hex[2 * i]);
    const int low = hex_value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return bad();
    bytes[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return Digest(bytes);
}

Digest Digest::of(std::string_view content) {
  Hasher hasher;
  hasher.update(content);
  return hasher.finish();
}

std::string Digest::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (const unsigned char byte : bytes_) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

struct Hasher::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { EVP_MD_CTX_free(context); }
};

Hasher::Hasher() : impl_(std::make_unique<Impl>()) {
  if (impl_->context == nullptr || EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr) != 1)
    abort_because("SHA-256 is not available in this OpenSSL");
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(std::string_view bytes) {
  if (EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) != 1) abort_because("hashing failed");
}

Digest Hasher::finish() {
  std::array<unsigned char, 32> bytes{};
  if (EVP_DigestFinal_ex(impl_->context, bytes.data(), nullptr) != 1) abort_because("hashing failed");
  return Digest(bytes);
}

}  // namespace slipway
