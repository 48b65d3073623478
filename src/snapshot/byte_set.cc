#include "snapshot/byte_set.h"

#include <array>

namespace slipway::snapshot {
namespace {

struct NamedSet {
  std::string_view name;
  bool (*has)(int byte);
};

bool is_lower(int c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(int c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(int c) {
  return c >= '0' && c <= '9';
}
bool is_alpha(int c) {
  return is_lower(c) || is_upper(c);
}
bool is_alnum(int c) {
  return is_alpha(c) || is_digit(c);
}
bool is_graph(int c) {
  return c > 0x20 && c < 0x7f;
}

// ASCII alone, whatever the locale; the vertical tab and the form feed are no spaces to git.
constexpr std::array kNamedSets{
    NamedSet{"alnum", is_alnum},
    NamedSet{"alpha", is_alpha},
    NamedSet{"blank", [](int c) { return c == ' ' || c == '\t'; }},
    NamedSet{"cntrl", [](int c) { return c < 0x20 || c == 0x7f; }},
    NamedSet{"digit", is_digit},
    NamedSet{"graph", is_graph},
    NamedSet{"lower", is_lower},
    NamedSet{"print", [](int c) { return is_graph(c) || c == ' '; }},
    NamedSet{"punct", [](int c) { return is_graph(c) && !is_alnum(c); }},
    NamedSet{"space", [](int c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }},
    NamedSet{"upper", is_upper},
    NamedSet{"xdigit", [](int c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }},
};

bool add_named(std::bitset<256>& bytes, std::string_view name) {
  for (const NamedSet& named : kNamedSets) {
    if (named.name != name) continue;
    for (int c = 0; c < 128; ++c)
      if (named.has(c)) bytes.set(static_cast<size_t>(c));
    return true;
  }
  return false;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<ByteSet> parse() {
    at_ = 1;
    const bool negated = peek() == '!' || peek() == '^';
    if (negated) ++at_;
    // The first member may be a "]".
    do {
      if (!member()) return std::nullopt;
    } while (peek() != ']');
    if (negated) bytes_.flip();
    return ByteSet{.bytes = bytes_, .length = at_ + 1};
  }

 private:
  // -1 at the end.
  int peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? static_cast<unsigned char>(text_[at_ + ahead]) : -1;
  }

  // A byte that stands for itself, perhaps after a backslash; -1 at the end.
  int literal() {
    if (peek() == '\\') ++at_;
    const int byte = peek();
    if (byte >= 0) ++at_;
    return byte;
  }

  bool member() {
    const int next = peek();
    if (next < 0) return false;
    if (next == '-' && range_from_ >= 0 && peek(1) >= 0 && peek(1) != ']') return range();
    if (next == '[' && peek(1) == ':') return named();
    const int byte = literal();
    if (byte < 0) return false;
    bytes_.set(static_cast<size_t>(byte));
    range_from_ = byte;
    return true;
  }

  bool range() {
    ++at_;
    const int last = literal();
    if (last < 0) return false;
    for (int byte = range_from_; byte <= last; ++byte) bytes_.set(static_cast<size_t>(byte));
    range_from_ = -1;
    return true;
  }

  bool named() {
    const size_t name = at_ + 2;
    const size_t close = text_.find(']', name);
    if (close == std::string_view::npos) return false;
    if (close == name || text_[close - 1] != ':') {
      // "[:" without ":]" is a bracket and a colon.
      bytes_.set('[');
      range_from_ = '[';
      ++at_;
      return true;
    }
    at_ = close + 1;
    range_from_ = -1;
    return add_named(bytes_, text_.substr(name, close - 1 - name));
  }

  std::string_view text_;
  size_t at_ = 0;
  int range_from_ = -1;  // the byte before, where a range may begin
  std::bitset<256> bytes_;
};

}  // namespace

std::optional<ByteSet> parse_byte_set(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace slipway::snapshot
