#include "snapshot/glob.h"

#include <algorithm>
#include <array>
#include <bit>

#include "snapshot/byte_set.h"

namespace slipway::snapshot {

Glob::Glob(std::string_view pattern, Slashes slashes) {
  compile(pattern, slashes);
}

void Glob::compile(std::string_view pattern, Slashes slashes) {
  for (size_t at = 0; at < pattern.size() && !malformed_;) {
    const char c = pattern[at];
    if (c == '*') {
      at = compile_stars(pattern, at, slashes);
    } else if (c == '?') {
      add(Kind::kAny);
      ++at;
    } else if (c == '[') {
      auto set = parse_byte_set(pattern.substr(at));
      if (!set) {
        malformed_ = true;
        break;
      }
      set->bytes.reset('/');
      pieces_.push_back({.kind = Kind::kSet, .byte = 0, .set = static_cast<uint32_t>(sets_.size())});
      sets_.push_back(set->bytes);
      at += set->length;
    } else {
      if (c == '\\') ++at;
      malformed_ = at == pattern.size();
      if (!malformed_) add(Kind::kByte, pattern[at++]);
    }
  }
}

// The stars at `at`; gives the position after what was read. "**" crosses slashes only when it stands alone
// between them; "a**b" is "a*b".
size_t Glob::compile_stars(std::string_view pattern, size_t at, Slashes slashes) {
  const size_t end = std::min(pattern.find_first_not_of('*', at), pattern.size());
  const std::string_view rest = pattern.substr(end);
  const bool begins = at == 0 || pattern[at - 1] == '/';
  const bool ends = rest.empty() || rest.starts_with('/') || rest.starts_with("\\/");
  if (slashes == Slashes::kPlain || end - at < 2 || !begins || !ends) {
    add(Kind::kRun);
    return end;
  }
  if (!rest.starts_with('/')) {
    add(Kind::kPath);
    return end;
  }
  add(Kind::kFolders);
  add(Kind::kPath);
  add(Kind::kByte, '/');
  return end + 1;
}

// Adds a state and those that are reached from it without taking a byte.
void Glob::enter(uint64_t* states, size_t state) const {
  while (true) {
    const uint64_t bit = uint64_t{1} << (state % 64);
    if ((states[state / 64] & bit) != 0) return;
    states[state / 64] |= bit;
    if (state == pieces_.size()) return;
    const Kind kind = pieces_[state].kind;
    if (kind == Kind::kFolders) enter(states, state + 3);
    if (kind != Kind::kFolders && kind != Kind::kRun && kind != Kind::kPath) return;
    ++state;
  }
}

void Glob::step(const Piece& piece, size_t state, char byte, uint64_t* next) const {
  switch (piece.kind) {
    case Kind::kByte:
      if (byte == piece.byte) enter(next, state + 1);
      break;
    case Kind::kAny:
      if (byte != '/') enter(next, state + 1);
      break;
    case Kind::kSet:
      if (sets_[piece.set].test(static_cast<unsigned char>(byte))) enter(next, state + 1);
      break;
    case Kind::kRun:
      if (byte != '/') enter(next, state);
      break;
    case Kind::kPath: enter(next, state); break;
    case Kind::kFolders: break;
  }
}

bool Glob::run(std::string_view text, uint64_t* states, uint64_t* next, size_t words) const {
  enter(states, 0);
  for (const char byte : text) {
    std::fill_n(next, words, 0);
    bool alive = false;
    for (size_t word = 0; word < words; ++word) {
      for (uint64_t left = states[word]; left != 0; left &= left - 1) {
        const size_t state = word * 64 + static_cast<size_t>(std::countr_zero(left));
        if (state < pieces_.size()) step(pieces_[state], state, byte, next);
      }
    }
    for (size_t word = 0; word < words; ++word) alive = alive || next[word] != 0;
    if (!alive) return false;
    std::swap(states, next);
  }
  return (states[pieces_.size() / 64] >> (pieces_.size() % 64) & 1) != 0;
}

bool Glob::matches(std::string_view text) const {
  if (malformed_) return false;
  const size_t words = pieces_.size() / 64 + 1;
  std::array<uint64_t, 4> small{};
  if (words <= small.size() / 2) return run(text, small.data(), small.data() + words, words);
  std::vector<uint64_t> large(2 * words);
  return run(text, large.data(), large.data() + words, words);
}

}  // namespace slipway::snapshot
