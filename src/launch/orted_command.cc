#include "launch/orted_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace slipway::launch {
namespace {

constexpr size_t kMostWords = 4096;

std::unexpected<Error> strange(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message),
              "the launcher 'mpi' works with OpenMPI 4; look at system_logs/mpirun.txt");
}

bool is_orted(std::string_view word) {
  return word == "orted" || word.ends_with("/orted");
}

// Words as a shell has them: blanks apart, quotes and backslashes.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> take() {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == ' ' || c == '\t' || c == '\n') {
        end_word();
      } else if (c == '"' || c == '\'') {
        if (!take_quoted(c)) return strange("mpirun's remote command has a quote without an end");
      } else {
        if (c == '\\' && at_ == text_.size()) return strange("mpirun's remote command ends with a backslash");
        word() += c == '\\' ? text_[at_++] : c;
      }
      if (words_.size() > kMostWords) return strange("mpirun's remote command is too long");
    }
    end_word();
    return std::move(words_);
  }

 private:
  std::string& word() {
    if (!word_) word_.emplace();
    return *word_;
  }
  void end_word() {
    if (word_) words_.push_back(std::move(*word_));
    word_.reset();
  }
  bool take_quoted(char quote) {
    word();
    while (at_ < text_.size() && text_[at_] != quote) {
      const bool escaped = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size();
      if (escaped) ++at_;
      word() += text_[at_++];
    }
    return at_++ < text_.size();
  }

  std::string_view text_;
  size_t at_ = 0;
  std::optional<std::string> word_;
  std::vector<std::string> words_;
};

std::optional<int> number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  return number;
}

}  // namespace

Result<std::vector<std::string>> orted_arguments(const std::vector<std::string>& words) {
  const std::string line = fmt::format("{}", fmt::join(words, " "));
  SLIPWAY_ASSIGN(std::vector<std::string> all, Words(line).take());
  // mpirun may set PATH and LD_LIBRARY_PATH for a shell first; the node has its own.
  const auto program = std::ranges::find_if(all, is_orted);
  if (program == all.end()) return strange("mpirun asked another node for a program that is not orted");
  std::vector<std::string> arguments(program + 1, all.end());
  for (const std::string& argument : arguments)
    if (argument == ";" || argument == "&&" || argument == "||" || argument == "|" || argument == "&")
      return strange("mpirun's remote command holds more than orted");
  return arguments;
}

int failed_rank_in(std::string_view printed) {
  // "mpirun noticed that process rank 2 with PID 0 on node ..."
  constexpr std::string_view kNoticed = "process rank";
  if (const size_t at = printed.find(kNoticed); at != std::string_view::npos)
    return number_at(printed.substr(at + kNoticed.size())).value_or(-1);
  // "Process name: [[29813,1],3]"
  constexpr std::string_view kName = "Process name: [[";
  const size_t at = printed.find(kName);
  if (at == std::string_view::npos) return -1;
  const size_t rank = printed.find("],", at);
  return rank == std::string_view::npos ? -1 : number_at(printed.substr(rank + 2)).value_or(-1);
}

}  // namespace slipway::launch
