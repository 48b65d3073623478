#include "base/base64.h"

#include <openssl/evp.h>

namespace slipway {

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // one more for OpenSSL's closing NUL
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  const auto bad = [] { return fail(ErrorCode::kInvalidArgument, "that is not base64"); };
  if (text.size() % 4 != 0) return bad();
  std::string bytes(text.size() / 4 * 3, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (length < 0) return bad();
  // OpenSSL counts the padding as bytes.
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.resize(static_cast<size_t>(length) - padding);
  return bytes;
}

}  // namespace slipway
