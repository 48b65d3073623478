#include "data/credentials.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/base64.h"
#include "base/file.h"
#include "base/random.h"

namespace slipway::data {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr size_t kNonceBytes = 12;
constexpr size_t kMarkBytes = 16;
constexpr size_t kLongest = 16 << 10;

std::unexpected<Error> unreadable() {
  return fail(ErrorCode::kInvalidArgument, "the credentials cannot be read",
              "write one line: 'bearer TOKEN', 'basic USER:PASSWORD' or 'header NAME: VALUE'");
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r\n").contains(text.front())) text.remove_prefix(1);
  while (!text.empty() && std::string_view(" \t\r\n").contains(text.back())) text.remove_suffix(1);
  return text;
}

bool is_header_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

std::unexpected<Error> broken() {
  return fail(Error{.code = ErrorCode::kInternal,
                    .message = "the datastore's credentials cannot be opened",
                    .next = "add the datastore again with its credentials",
                    .detail = "the seal does not fit: another key file, or a changed row"});
}

}  // namespace

Result<SecretHeaders> parse_credentials(const Secret& text) {
  const std::string_view line = trimmed(text.reveal());
  const size_t blank = line.find(' ');
  if (line.size() > kLongest || blank == std::string_view::npos) return unreadable();
  if (std::ranges::any_of(line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return unreadable();
  const std::string_view kind = line.substr(0, blank);
  const std::string_view value = trimmed(line.substr(blank));
  SecretHeaders headers;
  if (kind == "bearer" && !value.contains(' ')) {
    headers.emplace_back("Authorization", Secret(fmt::format("Bearer {}", value)));
  } else if (kind == "basic" && value.contains(':')) {
    headers.emplace_back("Authorization", Secret(fmt::format("Basic {}", to_base64(value))));
  } else if (const size_t colon = value.find(':');
             kind == "header" && is_header_name(value.substr(0, colon)) && colon != std::string_view::npos) {
    headers.emplace_back(value.substr(0, colon), Secret(std::string(trimmed(value.substr(colon + 1)))));
  } else {
    return unreadable();
  }
  return headers;
}

Result<std::string> credentials_kind(const Secret& text) {
  SLIPWAY_TRY(parse_credentials(text));
  const std::string_view line = trimmed(text.reveal());
  return std::string(line.substr(0, line.find(' ')));
}

Result<Secret> Seal::key() const {
  auto content = read_file(key_file_, 4096);
  if (!content && content.error().code == ErrorCode::kNotFound) {
    // Two at once: whoever comes second reads what the first has made.
    const std::string made = random_bytes(kKeyBytes);
    const std::string aside = fmt::format("{}.new-{}", key_file_.string(), random_base32(8));
    SLIPWAY_TRY(replace_file(aside, made));
    const int linked = ::link(aside.c_str(), key_file_.c_str());
    const int error = errno;
    ::unlink(aside.c_str());
    if (linked != 0 && error != EEXIST)
      return fail(errno_error(error, fmt::format("create {}", key_file_.string())));
    SLIPWAY_TRY(sync_folder(key_file_.parent_path()));
    content = read_file(key_file_, 4096);
  }
  if (!content) return fail(content.error());
  if (content->size() != kKeyBytes)
    return fail(ErrorCode::kInternal, fmt::format("{} is no key", key_file_.string()),
                "put the file back from a copy, or remove it and add the datastores' credentials again");
  return Secret(std::move(*content));
}

Result<std::string> Seal::close(const Secret& secret, std::string_view about) const {
  SLIPWAY_ASSIGN(const Secret key_bytes, key());
  const std::string nonce = random_bytes(kNonceBytes);
  const std::string_view plain = secret.reveal();
  std::string sealed(plain.size(), '\0');
  std::string mark(kMarkBytes, '\0');
  int length = 0;
  const Cipher cipher(EVP_CIPHER_CTX_new());
  const bool done = cipher &&
                    EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key_bytes.reveal()),
                                       bytes_of(std::string_view(nonce))) == 1 &&
                    EVP_EncryptUpdate(cipher.get(), nullptr, &length, bytes_of(about),
                                      static_cast<int>(about.size())) == 1 &&
                    EVP_EncryptUpdate(cipher.get(), bytes_of(sealed), &length, bytes_of(plain),
                                      static_cast<int>(plain.size())) == 1 &&
                    EVP_EncryptFinal_ex(cipher.get(), nullptr, &length) == 1 &&
                    EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kMarkBytes, mark.data()) == 1;
  if (!done) return fail(ErrorCode::kInternal, "the credentials cannot be sealed");
  return to_base64(nonce + mark + sealed);
}

Result<Secret> Seal::open(std::string_view sealed, std::string_view about) const {
  SLIPWAY_ASSIGN(const Secret key_bytes, key());
  const auto decoded = from_base64(sealed);
  if (!decoded || decoded->size() < kNonceBytes + kMarkBytes) return broken();
  const std::string_view whole = *decoded;
  std::string mark(whole.substr(kNonceBytes, kMarkBytes));
  const std::string_view body = whole.substr(kNonceBytes + kMarkBytes);
  std::string plain(body.size(), '\0');
  int length = 0;
  const Cipher cipher(EVP_CIPHER_CTX_new());
  const bool done = cipher &&
                    EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key_bytes.reveal()),
                                       bytes_of(whole)) == 1 &&
                    EVP_DecryptUpdate(cipher.get(), nullptr, &length, bytes_of(about),
                                      static_cast<int>(about.size())) == 1 &&
                    EVP_DecryptUpdate(cipher.get(), bytes_of(plain), &length, bytes_of(body),
                                      static_cast<int>(body.size())) == 1 &&
                    EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kMarkBytes, mark.data()) == 1 &&
                    EVP_DecryptFinal_ex(cipher.get(), nullptr, &length) == 1;
  if (!done) return broken();
  return Secret(std::move(plain));
}

}  // namespace slipway::data
