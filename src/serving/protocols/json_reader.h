// JSON read once, front to back, without a tree: requests are mostly numbers, and they go straight into the
// tensor's memory.
//
// Invariants
//   1. The text ends in a NUL (it is a std::string's): every scan stops there, and no look-ahead goes past
//   it.
//   2. Nothing is allocated but what the caller asks for; depth is bounded by kMaxDepth.
//   3. After an error the position is where it was met; `at` puts it into words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway::serving {

// Powers of ten that a double holds exactly.
inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

class JsonReader {
 public:
  static constexpr int kMaxDepth = 100;

  // `text` outlives the reader.
  explicit JsonReader(const std::string& text)
      : begin_(text.c_str()), here_(text.c_str()), end_(text.c_str() + text.size()) {}

  // The next character that is not blank; '\0' at the end.
  char peek() {
    while (*here_ == ' ' || *here_ == '\n' || *here_ == '\t' || *here_ == '\r') ++here_;
    return *here_;
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++here_;
    return true;
  }
  bool take_word(std::string_view word);

  // Calls `member(key)` with the reader at each value, which it has to read.
  template <class Member>
  Status object(Member member) {
    if (!take('{')) return wrong("an object");
    if (take('}')) return {};
    do {
      SLIPWAY_ASSIGN(const std::string key, string());
      if (!take(':')) return wrong("':'");
      SLIPWAY_TRY(member(key));
    } while (take(','));
    return take('}') ? Status() : wrong("',' or '}'");
  }
  // Calls `element()` for each.
  template <class Element>
  Status array(Element element) {
    if (!take('[')) return wrong("a list");
    if (take(']')) return {};
    do SLIPWAY_TRY(element());
    while (take(','));
    return take(']') ? Status() : wrong("',' or ']'");
  }
  // Escapes are decoded; what is not UTF-8 is refused.
  Result<std::string> string();
  // A number that is not followed by more of one. Also NaN, Infinity and -Infinity.
  Result<double> number();
  // Reads numbers, each with the comma behind it, for as long as they are plain: without an exponent and with
  // digits that a double holds exactly. Calls `store` with each and gives how many there were; what follows
  // is for the other functions. Most of a request goes through here.
  template <class Store>
  size_t plain_numbers(Store store) {
    for (size_t count = 0;; ++count) {
      const char* at = here_;
      while (*at == ' ') ++at;
      const bool negative = *at == '-';
      if (negative) ++at;
      const char* const first = at;
      uint64_t mantissa = 0;
      for (; is_digit(*at); ++at) mantissa = mantissa * 10 + static_cast<uint64_t>(*at - '0');
      const auto before = static_cast<size_t>(at - first);
      if (before == 0 || (before > 1 && *first == '0')) return count;
      size_t behind = 0;
      if (*at == '.') {
        const char* const point = ++at;
        for (; is_digit(*at); ++at) mantissa = mantissa * 10 + static_cast<uint64_t>(*at - '0');
        behind = static_cast<size_t>(at - point);
        if (behind == 0) return count;
      }
      if (*at != ',' || before + behind > 19 || mantissa > 1ULL << 53) return count;
      here_ = at + 1;
      const double value = static_cast<double>(mantissa) / kPowersOfTen[behind];
      store(negative ? -value : value);
    }
  }
  // A whole number, without a point or an exponent. `negative` has its sign.
  Result<uint64_t> whole(bool& negative);
  Result<bool> boolean();
  Status skip();
  // Nothing but blanks is left.
  Status finish();

  const char* position() const { return here_; }
  void rewind(const char* position) { here_ = position; }
  size_t offset() const { return static_cast<size_t>(here_ - begin_); }
  // The error for something else than what was expected here.
  std::unexpected<Error> wrong(std::string_view expected);

 private:
  static bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
  Status skip_scalar();
  Status append_escape(std::string& text);
  Result<uint32_t> hex4();
  Result<double> slow_number(const char* from);

  const char* begin_;
  const char* here_;
  const char* end_;
};

}  // namespace slipway::serving
