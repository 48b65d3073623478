#include "environments/pyproject.h"

#include <fmt/format.h>

#include "environments/line_text.h"
#include "environments/python_request.h"
#include "environments/requirement.h"

namespace slipway::environments {
namespace {

constexpr size_t kMaxFile = 1 << 20;
constexpr int kMaxDepth = 32;

// Goes through a TOML document value by value. Of most only the end is of interest: what a project file says
// to other tools is passed over, as long as it has the form of TOML.
class TomlScanner {
 public:
  TomlScanner(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  struct Place {
    size_t line = 1;
    size_t column = 1;
  };
  Place place() const { return {line_, at_ - line_start_ + 1}; }
  auto wrong(const Place& place, const std::string& message, std::string next = "") const {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}:{}:{}: {}", shown(file_), place.line, place.column, message),
                std::move(next));
  }
  auto broken(const char* what) const {
    return wrong(place(), fmt::format("this is not TOML: {}", what), "mend that line");
  }

  bool ended() const { return at_ >= text_.size(); }
  char peek() const { return ended() ? '\0' : text_[at_]; }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    for (size_t i = 0; i < word.size(); ++i) step();
    return true;
  }

  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') step();
  }
  // Blanks, comments and ends of lines.
  void skip_lines() {
    while (!ended()) {
      if (peek() == '#') {
        while (!ended() && peek() != '\n') step();
      } else if (std::string_view(" \t\r\n").find(peek()) != std::string_view::npos) {
        step();
      } else {
        return;
      }
    }
  }

  // "a.'b c'.d" as its parts joined by dots.
  Result<std::string> key() {
    std::string joined;
    while (true) {
      skip_blanks();
      std::string part;
      if (peek() == '"' || peek() == '\'') {
        SLIPWAY_ASSIGN(part, string());
      } else {
        while (is_letter_or_digit(peek()) || peek() == '-' || peek() == '_') part += step();
        if (part.empty()) return broken("a key is expected here");
      }
      joined += part;
      skip_blanks();
      if (!take(".")) return joined;
      joined += '.';
    }
  }

  // Escapes but those of quotes and backslashes stay as they are: no requirement has any.
  Result<std::string> string() {
    const char quote = peek();
    const std::string ends(3, quote);
    const bool long_form = take(ends);
    if (!long_form) step();
    std::string value;
    while (true) {
      if (ended() || (!long_form && peek() == '\n')) return broken("a string is not closed");
      if (long_form ? take(ends) : take(ends.substr(0, 1))) return value;
      if (quote == '"' && take("\\")) {
        if (ended()) return broken("a string is not closed");
        if (peek() != '"' && peek() != '\\') value += '\\';
      }
      value += step();
    }
  }

  // Calls `take_item` at the beginning of each value of a list.
  template <class TakeItem>
  Status list(const TakeItem& take_item) {
    take("[");
    while (true) {
      skip_lines();
      if (take("]")) return {};
      SLIPWAY_TRY(take_item());
      skip_lines();
      if (!take(",") && peek() != ']') return broken("',' or ']' is expected here");
    }
  }

  Status skip_value(int depth = 0) {
    if (depth > kMaxDepth) return broken("values are nested too deeply");
    if (peek() == '"' || peek() == '\'') {
      SLIPWAY_TRY(string());
      return {};
    }
    if (peek() == '[') return list([&] { return skip_value(depth + 1); });
    if (peek() == '{') return skip_table(depth);
    size_t taken = 0;
    for (; !ended() && std::string_view(",]}#\n").find(peek()) == std::string_view::npos; ++taken) step();
    if (taken == 0) return broken("a value is expected here");
    return {};
  }

 private:
  char step() {
    const char c = text_[at_++];
    if (c == '\n') {
      ++line_;
      line_start_ = at_;
    }
    return c;
  }

  Status skip_table(int depth) {
    take("{");
    while (true) {
      skip_lines();
      if (take("}")) return {};
      SLIPWAY_TRY(key());
      if (!take("=")) return broken("'=' is expected here");
      skip_blanks();
      SLIPWAY_TRY(skip_value(depth + 1));
      skip_lines();
      if (!take(",") && peek() != '}') return broken("',' or '}' is expected here");
    }
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  size_t line_ = 1;
  size_t line_start_ = 0;
};

class ProjectReader {
 public:
  ProjectReader(std::string_view text, const std::string& file) : scanner_(text, file) {}

  Status read() {
    std::string table;
    for (scanner_.skip_lines(); !scanner_.ended(); scanner_.skip_lines()) {
      if (scanner_.peek() == '[') {
        SLIPWAY_ASSIGN(table, header());
        has_project_ = has_project_ || table == "project";
      } else {
        SLIPWAY_ASSIGN(const std::string key, scanner_.key());
        if (!scanner_.take("=")) return scanner_.broken("'=' is expected here");
        scanner_.skip_blanks();
        SLIPWAY_TRY(value(table.empty() ? key : fmt::format("{}.{}", table, key)));
      }
      scanner_.skip_blanks();
      scanner_.take("\r");
      if (!scanner_.ended() && scanner_.peek() != '\n' && scanner_.peek() != '#')
        return scanner_.broken("the line should end here");
    }
    return {};
  }

  bool has_project() const { return has_project_; }
  EnvironmentDefinition definition() && { return std::move(definition_); }

 private:
  Result<std::string> header() {
    const bool one_of_many = scanner_.take("[[");
    if (!one_of_many) scanner_.take("[");
    SLIPWAY_ASSIGN(std::string name, scanner_.key());
    if (!scanner_.take(one_of_many ? "]]" : "]")) return scanner_.broken("']' is expected here");
    return name;
  }

  Status value(const std::string& key) {
    has_project_ = has_project_ || key.starts_with("project.");
    const auto place = scanner_.place();
    const bool is_text = scanner_.peek() == '"' || scanner_.peek() == '\'';
    if (key == "project.requires-python") {
      std::string python;
      if (is_text) {
        SLIPWAY_ASSIGN(python, scanner_.string());
      }
      if (!is_text || !PythonRequest::parse(python))
        return scanner_.wrong(place, "'requires-python' is no version constraint", "for example: \">=3.9\"");
      definition_.python = python;
      return {};
    }
    if (key != "project.dependencies") return scanner_.skip_value();
    if (scanner_.peek() != '[')
      return scanner_.wrong(place, "'dependencies' must be a list",
                            "for example: dependencies = [\"numpy\"]");
    return scanner_.list([this] { return dependency(); });
  }

  Status dependency() {
    const auto place = scanner_.place();
    if (scanner_.peek() != '"' && scanner_.peek() != '\'')
      return scanner_.wrong(place, "a dependency is a string in quotes", "for example: \"numpy>=1.20\"");
    SLIPWAY_ASSIGN(const std::string text, scanner_.string());
    const Result<Requirement> requirement = parse_requirement(text);
    if (!requirement) return scanner_.wrong(place, requirement.error().message, requirement.error().next);
    definition_.pip.push_back(to_text(*requirement));
    return {};
  }

  TomlScanner scanner_;
  EnvironmentDefinition definition_;
  bool has_project_ = false;
};

}  // namespace

Result<EnvironmentDefinition> parse_pyproject(std::string_view text, const std::string& file_name) {
  if (text.size() > kMaxFile)
    return fail(ErrorCode::kTooLarge, fmt::format("{} is larger than 1 MiB", shown(file_name)));
  ProjectReader reader(text, file_name);
  SLIPWAY_TRY(reader.read());
  if (!reader.has_project())
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: there is no [project] in it", shown(file_name)),
                "dependencies stand in [project]: dependencies = [\"numpy\"]");
  return std::move(reader).definition();
}

}  // namespace slipway::environments
