#include "serving/protocols/csv.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "serving/protocols/json_tensor.h"

namespace slipway::serving {
namespace {

// Cell by cell. A quoted cell may hold commas, line ends and doubled quotes.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  bool at_end() const { return rest_.empty(); }
  size_t line() const { return line_; }

  Result<std::vector<std::string>> next_line() {
    std::vector<std::string> cells;
    ++line_;
    for (;;) {
      SLIPWAY_ASSIGN(std::string cell, next_cell());
      cells.push_back(std::move(cell));
      if (!rest_.starts_with(',')) break;
      rest_.remove_prefix(1);
    }
    if (rest_.starts_with("\r\n")) rest_.remove_prefix(1);
    if (!rest_.empty()) rest_.remove_prefix(1);
    return cells;
  }

 private:
  Result<std::string> next_cell() {
    if (!rest_.starts_with('"')) {
      const size_t end = std::min(rest_.find_first_of(",\r\n"), rest_.size());
      std::string cell(rest_.substr(0, end));
      rest_.remove_prefix(end);
      return cell;
    }
    std::string cell;
    rest_.remove_prefix(1);
    for (;;) {
      const size_t quote = rest_.find('"');
      if (quote == std::string_view::npos) break;
      cell += rest_.substr(0, quote);
      rest_.remove_prefix(quote + 1);
      if (!rest_.starts_with('"')) {
        if (rest_.empty() || rest_.find_first_of(",\r\n") == 0) return cell;
        break;
      }
      cell += '"';
      rest_.remove_prefix(1);
    }
    return fail(ErrorCode::kInvalidArgument, fmt::format("line {} has a quoted cell without its end", line_),
                "end it with one quote; within it a quote is written twice");
  }

  std::string_view rest_;
  size_t line_ = 0;
};

// The cell as JSON; false when it is no number.
bool append_cell(std::string& out, std::string_view cell) {
  while (cell.starts_with(' ')) cell.remove_prefix(1);
  while (cell.ends_with(' ')) cell.remove_suffix(1);
  if (cell.empty() || cell == "nan" || cell == "NaN" || cell == "NA" || cell == "null") {
    out += "null";
    return true;
  }
  if (cell == "True" || cell == "true" || cell == "False" || cell == "false") {
    out += cell.starts_with('T') || cell.starts_with('t') ? "true" : "false";
    return true;
  }
  if (cell.starts_with('+')) cell.remove_prefix(1);
  int64_t whole = 0;
  const char* const end = cell.data() + cell.size();
  if (const auto read = std::from_chars(cell.data(), end, whole); read.ec == std::errc() && read.ptr == end) {
    out += fmt::format("{}", whole);
    return true;
  }
  double number = 0;
  const auto read = std::from_chars(cell.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return false;
  append_number(out, number);
  return true;
}

}  // namespace

Result<std::string> csv_to_split(std::string_view text, const Signature& signature) {
  CsvReader reader(text);
  if (reader.at_end())
    return fail(ErrorCode::kInvalidArgument, "the table is empty",
                "send a line with the columns' names first");
  SLIPWAY_ASSIGN(const std::vector<std::string> columns, reader.next_line());
  std::vector<bool> texts;
  std::string split = "{\"columns\":[";
  for (const std::string& name : columns) {
    if (!texts.empty()) split += ',';
    append_json_text(split, name);
    const TensorSpec* input = &signature.inputs.front();
    for (const TensorSpec& spec : signature.inputs)
      if (signature.inputs.size() > 1 && spec.name == name) input = &spec;
    texts.push_back(input->type == DataType::kBytes);
  }
  split += "],\"data\":[";
  while (!reader.at_end()) {
    SLIPWAY_ASSIGN(const std::vector<std::string> cells, reader.next_line());
    if (cells.size() == 1 && cells.front().empty()) continue;
    if (cells.size() != columns.size())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("line {} has {} cells and the first has {}", reader.line(), cells.size(),
                              columns.size()),
                  "give each line as many");
    split += split.ends_with('[') ? "[" : ",[";
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) split += ',';
      if (texts[i]) {
        append_json_text(split, cells[i]);
      } else if (!append_cell(split, cells[i])) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("column {} of line {} is not a number", i + 1, reader.line()),
                    "the first line names the columns, and the others are their values");
      }
    }
    split += ']';
  }
  return split + "]}";
}

}  // namespace slipway::serving
