#include "data/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "data/shown.h"

namespace slipway::data {
namespace {

constexpr uint64_t kBeginning = 1 << 20;
constexpr size_t kMostTypes = 100;
constexpr size_t kMostColumns = 2000;
constexpr size_t kLongestCell = 1000;

json::value cell(std::string_view text) {
  return json::string(to_valid_utf8(text.substr(0, kLongestCell)));
}

// Rows under named columns, before columns are kept or dropped.
struct Grid {
  std::vector<std::string> columns;
  std::vector<std::vector<json::value>> rows;
  bool more = false;
};

bool is_wanted(const Table& table, const std::string& column) {
  if (!table.keep.empty()) return std::ranges::find(table.keep, column) != table.keep.end();
  return std::ranges::find(table.drop, column) == table.drop.end();
}

json::object as_json(const Table& table, Grid grid, size_t limit) {
  json::array columns;
  std::vector<size_t> wanted;
  for (size_t i = 0; i < grid.columns.size() && wanted.size() < kMostColumns; ++i) {
    if (!is_wanted(table, grid.columns[i])) continue;
    wanted.push_back(i);
    columns.push_back(cell(grid.columns[i]));
  }
  json::array rows;
  size_t at = 0;
  for (const auto& row : grid.rows) {
    if (at++ < table.skip_rows) continue;
    if (rows.size() == std::min<uint64_t>(limit, table.take_rows.value_or(UINT64_MAX))) {
      grid.more = rows.size() == limit;
      break;
    }
    json::array cells;
    for (const size_t i : wanted) cells.push_back(i < row.size() ? row[i] : json::value(nullptr));
    rows.push_back(std::move(cells));
  }
  return {{"kind", "rows"}, {"columns", std::move(columns)}, {"rows", std::move(rows)}, {"more", grid.more}};
}

void add_delimited(Grid& grid, const Table& table, std::string_view text, bool cut, size_t limit) {
  auto rows = split_delimited(text, table.separator[0], cut, limit + 1);
  if (rows.empty()) return;
  if (table.header) {
    if (grid.columns.empty()) grid.columns = rows.front();
    rows.erase(rows.begin());
  }
  for (const auto& row : rows) {
    for (size_t i = grid.columns.size(); i < row.size(); ++i)
      grid.columns.push_back(fmt::format("Column{}", i + 1));
    std::vector<json::value> cells;
    cells.reserve(row.size());
    for (const std::string& text_of_cell : row) cells.push_back(cell(text_of_cell));
    grid.rows.push_back(std::move(cells));
  }
}

Status add_json_lines(Grid& grid, std::string_view text, bool cut, const File& file, size_t limit) {
  for (size_t number = 1; !text.empty() && grid.rows.size() < limit; ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos && cut) break;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto object = parse_json_object(line, fmt::format("line {} of {}", number, shown(file.path)));
    if (!object) return fail(object.error());
    std::vector<json::value> cells(grid.columns.size());
    for (const auto& [key, value] : *object) {
      const std::string name(key);
      auto column = static_cast<size_t>(std::ranges::find(grid.columns, name) - grid.columns.begin());
      if (column == grid.columns.size()) {
        if (column == kMostColumns) continue;
        grid.columns.push_back(name);
        cells.emplace_back();
      }
      const bool nested = value.is_object() || value.is_array() || value.is_string();
      cells[column] = !nested             ? value
                      : value.is_string() ? cell(value.get_string())
                                          : cell(json::serialize(value));
    }
    grid.rows.push_back(std::move(cells));
  }
  return {};
}

// "**/a.tar.gz" is ".gz": what most tools go by. A name without a dot has none.
std::string type_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name.size() - dot > 16) return "";
  std::string type(name.substr(dot));
  std::ranges::transform(type, type.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return type;
}

json::object summary(const Manifest& manifest) {
  struct Kind {
    std::string type;
    uint64_t files = 0;
    uint64_t bytes = 0;
    uint64_t smallest = UINT64_MAX;
    uint64_t largest = 0;
  };
  std::map<std::string, Kind> kinds;
  for (const File& file : manifest.files()) {
    Kind& kind = kinds[type_of(file.path)];
    ++kind.files;
    kind.bytes += file.size;
    kind.smallest = std::min(kind.smallest, file.size);
    kind.largest = std::max(kind.largest, file.size);
  }
  std::vector<Kind> sorted;
  for (auto& [type, kind] : kinds) {
    kind.type = type;
    sorted.push_back(kind);
  }
  std::ranges::sort(sorted, std::greater(), &Kind::bytes);
  json::array types;
  for (const Kind& kind : sorted) {
    if (types.size() == kMostTypes) break;
    types.push_back(json::object{{"type", kind.type},
                                 {"files", kind.files},
                                 {"bytes", kind.bytes},
                                 {"smallest", kind.smallest},
                                 {"largest", kind.largest}});
  }
  return {{"kind", "summary"},
          {"files", manifest.files().size()},
          {"bytes", manifest.total_bytes()},
          {"types", std::move(types)}};
}

}  // namespace

std::vector<std::vector<std::string>> split_delimited(std::string_view text, char separator, bool cut,
                                                      size_t limit) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string field;
  bool quoted = false;
  const auto end_row = [&] {
    if (field.ends_with('\r')) field.pop_back();
    row.push_back(std::exchange(field, ""));
    const bool blank = row.size() == 1 && row.front().empty();
    if (!blank) rows.push_back(std::move(row));
    row.clear();
  };
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark is no part of a name
  for (size_t i = 0; i < text.size() && rows.size() < limit; ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      field += text[++i];
    } else if (c == '"' && (quoted || field.empty())) {
      quoted = !quoted;
    } else if (!quoted && c == separator) {
      row.push_back(std::exchange(field, ""));
    } else if (!quoted && c == '\n') {
      end_row();
    } else {
      field += c;
    }
  }
  if (!cut && rows.size() < limit && (!field.empty() || !row.empty())) end_row();
  return rows;
}

Result<json::object> preview(const Definition& definition, const Manifest& manifest, size_t rows,
                             const ReadBeginning& read) {
  if (!definition.table) return summary(manifest);
  const Table& table = *definition.table;
  if (table.format == TableFormat::kParquet)
    return json::object{{"kind", "note"},
                        {"note",
                         "Parquet files are read by the Python side: in Python, "
                         "slipway.Dataset(name).to_pandas().head()"}};
  const size_t wanted = rows + std::min<uint64_t>(table.skip_rows, 100'000);
  Grid grid;
  for (const File& file : manifest.files()) {
    if (grid.rows.size() > wanted) break;
    SLIPWAY_ASSIGN(const std::string text, read(file, kBeginning));
    const bool cut = file.size > text.size();
    const size_t missing = wanted + 1 - grid.rows.size();
    if (table.format == TableFormat::kDelimited) {
      add_delimited(grid, table, text, cut, missing + (table.header ? 1 : 0));
    } else {
      SLIPWAY_TRY(add_json_lines(grid, text, cut, file, wanted + 1));
    }
    if (cut) break;  // the rest of this file would come first
  }
  return as_json(table, std::move(grid), rows);
}

}  // namespace slipway::data
