#include "base/random.h"

#include <sys/random.h>

#include <cerrno>

#include "base/log.h"

namespace slipway {

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  size_t filled = 0;
  while (filled < count) {
    const ssize_t got = ::getrandom(bytes.data() + filled, count - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) abort_because("getrandom failed");
    filled += static_cast<size_t>(got);
  }
  return bytes;
}

std::string random_base32(size_t count) {
  static constexpr char kAlphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
  std::string text = random_bytes(count);
  for (char& c : text) c = kAlphabet[static_cast<unsigned char>(c) & 31];
  return text;
}

}  // namespace slipway
