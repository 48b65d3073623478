// The wildcards of git's ignore files: *, **, ?, [a-z], [!x], [[:digit:]] and \ before a character that is
// meant as it stands. Bytes, not characters, as in git. A pattern is turned into a small automaton once, and
// each match costs at most length of the pattern times length of the text: no pattern makes it slow.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

namespace slipway::snapshot {

enum class Slashes {
  kPlain,      // the text has none: a file's name
  kSeparator,  // only "**" between slashes (or at an end of the pattern) crosses one
};

class Glob {
 public:
  Glob(std::string_view pattern, Slashes slashes);

  // Whether the whole text matches. A malformed pattern ("[a", "[[:no:]]", a last "\") matches nothing, as in
  // git.
  bool matches(std::string_view text) const;

 private:
  enum class Kind : uint8_t {
    kByte,     // `byte` itself
    kAny,      // one byte, not a slash
    kSet,      // one byte of sets_[set]
    kRun,      // any number of bytes, no slash among them
    kPath,     // any number of bytes
    kFolders,  // nothing: the next two pieces, a kPath and a slash, may be left out
  };
  struct Piece {
    Kind kind = Kind::kByte;
    char byte = 0;
    uint32_t set = 0;
  };

  void compile(std::string_view pattern, Slashes slashes);
  size_t compile_stars(std::string_view pattern, size_t at, Slashes slashes);
  void add(Kind kind, char byte = 0) { pieces_.push_back({.kind = kind, .byte = byte, .set = 0}); }
  void enter(uint64_t* states, size_t state) const;
  void step(const Piece& piece, size_t state, char byte, uint64_t* next) const;
  bool run(std::string_view text, uint64_t* states, uint64_t* next, size_t words) const;

  std::vector<Piece> pieces_;
  std::vector<std::bitset<256>> sets_;
  bool malformed_ = false;
};

}  // namespace slipway::snapshot
