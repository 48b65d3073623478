#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/data.h"
#include "cli/quantities.h"
#include "cli/table.h"
#include "client/requests.h"

namespace slipway::cli {
namespace {

constexpr size_t kWidestCell = 40;

struct FilesOptions {
  std::string dataset;
  int limit = 0;
};

struct PreviewOptions {
  std::string dataset;
  int rows = 10;
};

struct DiffOptions {
  std::string from;
  std::string to;
};

Result<int> list_files(Context& context, const FilesOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array files, session.list(data_path(session, options.dataset) + "/files",
                                                 {{"limit", options.limit > 0 ? "1000" : "10000"}},
                                                 static_cast<size_t>(std::max(options.limit, 0))));
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(files)}});
    return 0;
  }
  Table table({{"SIZE", Align::kRight}, {"PATH"}, {"FROM"}, {"CONTENT", Align::kLeft, 12}});
  for (const json::value& item : files) {
    const json::object& file = item.as_object();
    const std::string digest = text_at(file, "digest");
    table.add({bytes_text(static_cast<uint64_t>(integer_at(file, "size"))), text_at(file, "path"),
               text_at(file, "source"), digest.empty() ? text_at(file, "tag") : digest.substr(0, 12)});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  return 0;
}

void print_rows(Console& console, const json::object& preview) {
  std::vector<Column> columns;
  for (const std::string& name : texts_at(preview, "columns"))
    columns.push_back({printable(name, kWidestCell)});
  if (columns.empty()) {
    console.hint("the table has no columns");
    return;
  }
  Table table(std::move(columns));
  for (const json::value& row : array_at(preview, "rows")) {
    if (!row.is_array()) continue;
    std::vector<Cell> cells;
    for (const json::value& cell : row.get_array())
      cells.emplace_back(cell.is_null() ? "" : printable(value_text(cell), kWidestCell));
    table.add(std::move(cells));
  }
  console.out(table.render(console.width(), console.colour_out()));
  if (flag_at(preview, "more")) console.hint("there are more rows: --rows N shows them");
}

void print_summary(Console& console, const json::object& preview) {
  Table table({{"TYPE"},
               {"FILES", Align::kRight},
               {"SIZE", Align::kRight},
               {"SMALLEST", Align::kRight},
               {"LARGEST", Align::kRight}});
  const auto size = [](const json::object& object, std::string_view name) {
    return bytes_text(static_cast<uint64_t>(integer_at(object, name)));
  };
  for (const json::value& item : array_at(preview, "types")) {
    if (!item.is_object()) continue;
    const json::object& type = item.get_object();
    const std::string name = text_at(type, "type");
    table.add({name.empty() ? "(none)" : name, std::to_string(integer_at(type, "files")), size(type, "bytes"),
               size(type, "smallest"), size(type, "largest")});
  }
  console.out(table.render(console.width(), console.colour_out()));
  console.hint(
      fmt::format("{} in all, {}", count_of(integer_at(preview, "files"), "file"), size(preview, "bytes")));
}

Result<int> show_preview(Context& context, const PreviewOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object preview,
                 session.get(data_path(session, options.dataset) + "/preview" +
                             client::to_text({{"rows", std::to_string(options.rows)}})));
  if (context.console.json()) {
    context.console.print_json(preview);
  } else if (text_at(preview, "kind") == "rows") {
    print_rows(context.console, preview);
  } else if (text_at(preview, "kind") == "summary") {
    print_summary(context.console, preview);
  } else {
    context.console.line(printable(text_at(preview, "note")));
  }
  return 0;
}

Result<int> show_diff(Context& context, const DiffOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object diff,
                 session.get(session.in_workspace("/data-diff") +
                             client::to_text({{"from", options.from}, {"to", options.to}})));
  if (context.console.json()) {
    context.console.print_json(diff);
    return 0;
  }
  const int64_t changes = integer_at(diff, "changes");
  if (has_value(diff, "definition")) context.console.line("the definition changed");
  for (const json::value& item : array_at(diff, "files")) {
    if (!item.is_object()) continue;
    const std::string change = text_at(item.get_object(), "change");
    const Colour colour = change == "added"     ? Colour::kGreen
                          : change == "removed" ? Colour::kRed
                                                : Colour::kYellow;
    context.console.line(fmt::format("{} {}",
                                     paint(fmt::format("{:8}", change), colour, context.console.colour_out()),
                                     printable(text_at(item.get_object(), "path"))));
  }
  if (changes > static_cast<int64_t>(array_at(diff, "files").size()))
    context.console.hint(fmt::format("{} in all", count_of(changes, "change")));
  if (changes == 0)
    context.console.line(
        fmt::format("{} and {} have the same files", text_at(diff, "from"), text_at(diff, "to")));
  return 0;
}

}  // namespace

void add_data_preview(Command data, Context& context) {
  const auto listed = std::make_shared<FilesOptions>();
  Command files = data.command("files", "List the files of a version", "slipway data files mnist:2");
  files.positional("NAME[:VERSION]", listed->dataset, "the dataset; without a version the newest",
                   Completes::kDataset);
  files.option("--limit", listed->limit, "N", "how many at most (all)");
  files.action([listed, &context] { return list_files(context, *listed); });

  const auto compared = std::make_shared<DiffOptions>();
  Command diff = data.command("diff", "Say which files changed between two versions",
                              "slipway data diff mnist:1 mnist:2");
  diff.positional("FROM", compared->from, "a version", Completes::kDataset);
  diff.positional("TO", compared->to, "another", Completes::kDataset);
  diff.action([compared, &context] { return show_diff(context, *compared); });

  const auto seen = std::make_shared<PreviewOptions>();
  Command preview = data.command("preview", "Show the first rows of a table, or files by type and size",
                                 "slipway data preview iris --rows 5");
  preview.positional("NAME[:VERSION]", seen->dataset, "the dataset; without a version the newest",
                     Completes::kDataset);
  preview.option("--rows", seen->rows, "N", "how many rows (10)");
  preview.action([seen, &context] { return show_preview(context, *seen); });
}

}  // namespace slipway::cli
