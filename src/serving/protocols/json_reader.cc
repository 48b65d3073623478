#include "serving/protocols/json_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/utf8.h"

namespace slipway::serving {
namespace {

void append_utf8(std::string& text, uint32_t code) {
  const auto byte = [&](uint32_t value) { text += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | code >> 6);
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

}  // namespace

std::unexpected<Error> JsonReader::wrong(std::string_view expected) {
  const char found = peek();
  const std::string what = here_ >= end_                   ? "the end"
                           : found < 0x20 || found == 0x7f ? "a byte that is no text"
                                                           : fmt::format("'{}'", found);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the JSON body has {} at byte {} where {} is expected",
                          found < 0 ? "a character" : what, offset(), expected),
              "send the form the protocol describes");
}

bool JsonReader::take_word(std::string_view word) {
  peek();
  if (std::strncmp(here_, word.data(), word.size()) != 0) return false;
  here_ += word.size();
  return true;
}

Result<uint32_t> JsonReader::hex4() {
  uint32_t code = 0;
  for (int i = 0; i < 4; ++i, ++here_) {
    const char c = *here_;
    const int digit = is_digit(c)                              ? c - '0'
                      : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                               : -1;
    if (digit < 0) return wrong("four hexadecimal digits");
    code = code << 4 | static_cast<uint32_t>(digit);
  }
  return code;
}

Status JsonReader::append_escape(std::string& text) {
  switch (*here_++) {
    case '"': text += '"'; return {};
    case '\\': text += '\\'; return {};
    case '/': text += '/'; return {};
    case 'b': text += '\b'; return {};
    case 'f': text += '\f'; return {};
    case 'n': text += '\n'; return {};
    case 'r': text += '\r'; return {};
    case 't': text += '\t'; return {};
    case 'u': break;
    default: --here_; return wrong("an escape such as \\n");
  }
  SLIPWAY_ASSIGN(uint32_t code, hex4());
  if (code >= 0xdc00 && code < 0xe000) return wrong("the first half of a surrogate pair");
  if (code >= 0xd800 && code < 0xdc00) {
    if (here_[0] != '\\' || here_[1] != 'u') return wrong("the second half of a surrogate pair");
    here_ += 2;
    SLIPWAY_ASSIGN(const uint32_t low, hex4());
    if (low < 0xdc00 || low >= 0xe000) return wrong("the second half of a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  append_utf8(text, code);
  return {};
}

Result<std::string> JsonReader::string() {
  if (!take('"')) return wrong("text in quotes");
  std::string text;
  for (;;) {
    const char* from = here_;
    while (*here_ != '"' && *here_ != '\\' && static_cast<unsigned char>(*here_) >= 0x20) ++here_;
    text.append(from, here_);
    if (*here_ == '"') break;
    if (*here_ != '\\') return wrong("the end of the text, or an escape");
    ++here_;
    SLIPWAY_TRY(append_escape(text));
  }
  ++here_;
  if (!is_utf8(text)) return fail(ErrorCode::kInvalidArgument, "the JSON body has text that is not UTF-8");
  return text;
}

Result<double> JsonReader::slow_number(const char* from) {
  double value = 0;
  const auto [stopped, error] = std::from_chars(from, here_, value);
  if (error == std::errc::result_out_of_range) {
    // Too small becomes 0 and too large infinity, as in every other reader.
    const std::string_view text(from, here_);
    const size_t exponent = text.find_first_of("eE");
    const bool tiny = exponent != std::string_view::npos ? text[exponent + 1] == '-'
                                                         : text.starts_with("0.") || text.starts_with("-0.");
    return (tiny ? 0.0 : std::numeric_limits<double>::infinity()) * (*from == '-' ? -1 : 1);
  }
  if (error != std::errc() || stopped != here_) {
    here_ = from;
    return wrong("a number");
  }
  return value;
}

// Up to 19 digits fit an integer; where that is below 2^53 and the power of ten is exact, one multiplication
// or division rounds as it must. All else goes the slow way.
Result<double> JsonReader::number() {
  peek();
  const char* const from = here_;
  const bool negative = *here_ == '-';
  if (negative) ++here_;
  if (!is_digit(*here_)) {
    const double sign = negative ? -1 : 1;
    if (!negative && take_word("NaN")) return std::numeric_limits<double>::quiet_NaN();
    if (*here_ == 'I' && take_word("Infinity")) return sign * std::numeric_limits<double>::infinity();
    here_ = from;
    return wrong("a number");
  }
  uint64_t mantissa = 0;
  const char* digits = here_;
  while (is_digit(*here_)) mantissa = mantissa * 10 + static_cast<uint64_t>(*here_++ - '0');
  if (*digits == '0' && here_ - digits > 1) {
    here_ = from;
    return wrong("a number without leading zeros");
  }
  int64_t exponent = 0;
  int64_t count = here_ - digits;
  if (*here_ == '.') {
    const char* const point = ++here_;
    while (is_digit(*here_)) mantissa = mantissa * 10 + static_cast<uint64_t>(*here_++ - '0');
    if (here_ == point) return wrong("a digit");
    exponent = point - here_;
    count -= exponent;
  }
  if ((*here_ | 0x20) == 'e') {
    ++here_;
    const bool down = *here_ == '-';
    if (down || *here_ == '+') ++here_;
    if (!is_digit(*here_)) return wrong("a digit");
    int64_t given = 0;
    while (is_digit(*here_)) {
      if (given < 100000) given = given * 10 + (*here_ - '0');
      ++here_;
    }
    exponent += down ? -given : given;
  }
  if (count > 19 || mantissa > 1ULL << 53 || exponent < -22 || exponent > 22) return slow_number(from);
  const auto whole = static_cast<double>(mantissa);
  const double value = exponent < 0 ? whole / kPowersOfTen[-exponent] : whole * kPowersOfTen[exponent];
  return negative ? -value : value;
}

Result<uint64_t> JsonReader::whole(bool& negative) {
  peek();
  const char* const from = here_;
  negative = *here_ == '-';
  if (negative) ++here_;
  uint64_t value = 0;
  const auto [stopped, error] = std::from_chars(here_, end_, value);
  const char next = stopped < end_ ? *stopped : '\0';
  if (error != std::errc() || next == '.' || (next | 0x20) == 'e' || (*here_ == '0' && stopped - here_ > 1)) {
    here_ = from;
    return wrong("a whole number that the model's type can hold");
  }
  here_ = stopped;
  return value;
}

Result<bool> JsonReader::boolean() {
  if (take_word("true")) return true;
  if (take_word("false")) return false;
  return wrong("true or false");
}

Status JsonReader::skip_scalar() {
  const char c = peek();
  if (c == '"') {
    SLIPWAY_TRY(string());
    return {};
  }
  if (take_word("true") || take_word("false") || take_word("null")) return {};
  SLIPWAY_TRY(number());
  return {};
}

Status JsonReader::skip() {
  // Which brackets are open, and how many.
  char closing[kMaxDepth];
  int depth = 0;
  for (;;) {
    const char c = peek();
    if (c == '[' || c == '{') {
      if (depth == kMaxDepth)
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("the JSON body is nested deeper than {}", kMaxDepth));
      closing[depth++] = c == '[' ? ']' : '}';
      ++here_;
      if (take(closing[depth - 1])) {
        --depth;
      } else if (c == '{') {
        SLIPWAY_TRY(string());
        if (!take(':')) return wrong("':'");
        continue;
      } else {
        continue;
      }
    } else {
      SLIPWAY_TRY(skip_scalar());
    }
    // Behind a value: the next one, or the end of one or more brackets.
    while (depth > 0 && take(closing[depth - 1])) --depth;
    if (depth == 0) return {};
    if (!take(',')) return wrong("',' or a closing bracket");
    if (closing[depth - 1] == '}') {
      SLIPWAY_TRY(string());
      if (!take(':')) return wrong("':'");
    }
  }
}

Status JsonReader::finish() {
  if (peek() != '\0' || here_ != end_) return wrong("the end");
  return {};
}

}  // namespace slipway::serving
