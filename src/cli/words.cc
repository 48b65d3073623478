#include "cli/words.h"

#include <algorithm>

namespace slipway::cli {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("@%+=:,./-_").find(c) != std::string_view::npos;
}

}  // namespace

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && is_blank(c)) {
      in_word = false;
      continue;
    }
    if (!in_word) {
      words.emplace_back();
      in_word = true;
    }
    std::string& word = words.back();
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (i + 1 == text.size())
        return fail(ErrorCode::kInvalidArgument, "the command ends with a backslash",
                    "write \\\\ for one backslash");
      const char next = text[i + 1];
      if (quote == '"' && next != '"' && next != '\\') {
        word += c;
      } else {
        word += next;
        ++i;
      }
    } else {
      word += c;
    }
  }
  if (quote != 0)
    return fail(ErrorCode::kInvalidArgument, "a quote in the command is not closed",
                "close it, or write the command as a list: [python, train.py]");
  return words;
}

std::string join_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && std::ranges::all_of(word, is_plain)) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) {
      if (c == '\'') {
        line += "'\\''";
      } else {
        line += c;
      }
    }
    line += '\'';
  }
  return line;
}

}  // namespace slipway::cli
