// SHA-256: the name of every stored byte sequence.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway {

class Digest {
 public:
  Digest() = default;
  explicit Digest(const std::array<unsigned char, 32>& bytes) : bytes_(bytes) {}

  // 64 lower-case hexadecimal digits, nothing else.
  static Result<Digest> parse(std::string_view hex);
  static Digest of(std::string_view content);

  std::string hex() const;
  const std::array<unsigned char, 32>& bytes() const { return bytes_; }
  auto operator<=>(const Digest&) const = default;

 private:
  std::array<unsigned char, 32> bytes_{};
};

// Takes the content piece by piece.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void update(std::string_view bytes);
  // Ends it; the hasher may not be used afterwards.
  Digest finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway

template <>
struct std::hash<slipway::Digest> {
  size_t operator()(const slipway::Digest& digest) const noexcept {
    size_t value = 0;
    for (size_t i = 0; i < sizeof value; ++i) value = value << 8 | digest.bytes()[i];
    return value;
  }
};
