#include "data/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "base/ids.h"
#include "base/utf8.h"
#include "data/shown.h"
#include "data/url.h"

namespace slipway::data {
namespace {

constexpr size_t kMaxColumns = 10'000;
constexpr size_t kMaxName = 255;
constexpr std::string_view kTypes[] = {"string", "integer", "float", "boolean", "datetime"};

struct KindName {
  OperationKind kind;
  std::string_view name;
};
constexpr KindName kKinds[] = {{OperationKind::kTake, "take"},
                               {OperationKind::kSkip, "skip"},
                               {OperationKind::kSample, "sample"},
                               {OperationKind::kSplit, "split"},
                               {OperationKind::kFilter, "filter"}};

std::string_view name_of(OperationKind kind) {
  return std::ranges::find(kKinds, kind, &KindName::kind)->name;
}

std::unexpected<Error> bad(std::string message, std::string next = "") {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(next));
}

Status check_operation(const Operation& operation) {
  const bool by_fraction = operation.kind == OperationKind::kSplit ||
                           (operation.kind == OperationKind::kSample && operation.count == 0);
  const bool is_fraction = operation.fraction > 0 && operation.fraction < 1;  // false for what is no number
  if (by_fraction && !is_fraction)
    return bad(fmt::format("a {} needs a fraction between 0 and 1", name_of(operation.kind)),
               "write 0.8 for four fifths");
  if (!by_fraction && operation.fraction != 0)
    return bad(fmt::format("a {} takes a count or a fraction, not both", name_of(operation.kind)));
  if (operation.min_size > operation.max_size) return bad("a filter's least size is larger than its largest");
  const bool takes_seed = operation.kind == OperationKind::kSample || operation.kind == OperationKind::kSplit;
  if (!takes_seed && operation.seed != 0)
    return bad(fmt::format("a {} has no seed: nothing in it is random", name_of(operation.kind)));
  return {};
}

Status check_columns(const Table& table) {
  if (!table.keep.empty() && !table.drop.empty())
    return bad("a table names the columns it keeps or those it drops, not both");
  if (table.keep.size() + table.drop.size() + table.types.size() > kMaxColumns)
    return bad(fmt::format("a table names at most {} columns", kMaxColumns));
  for (const auto& [column, type] : table.types)
    if (std::ranges::find(kTypes, type) == std::end(kTypes))
      return bad(fmt::format("the column '{}' has the unknown type '{}'", shown(column), type),
                 "the types are string, integer, float, boolean and datetime");
  return {};
}

Result<std::vector<Operation>> operations_from_json(const json::array& list) {
  if (list.size() > kMaxOperations)
    return bad(fmt::format("a dataset has at most {} operations", kMaxOperations));
  std::vector<Operation> operations;
  for (const json::value& item : list) {
    if (!item.is_object()) return bad("an operation of a dataset is an object");
    SLIPWAY_ASSIGN(auto operation, operation_from_json(item.get_object()));
    operations.push_back(std::move(operation));
  }
  return operations;
}

}  // namespace

json::object to_json(const Operation& operation) {
  json::object object{{"op", name_of(operation.kind)}};
  if (operation.count > 0 || operation.kind == OperationKind::kTake || operation.kind == OperationKind::kSkip)
    object["count"] = operation.count;
  if (operation.fraction > 0) object["fraction"] = json_number(operation.fraction);
  if (operation.kind == OperationKind::kSample || operation.kind == OperationKind::kSplit)
    object["seed"] = operation.seed;
  if (operation.kind == OperationKind::kSplit) object["part"] = operation.rest ? "second" : "first";
  if (!operation.pattern.empty()) object["path"] = operation.pattern;
  if (operation.min_size > 0) object["min_size"] = operation.min_size;
  if (operation.max_size < UINT64_MAX) object["max_size"] = operation.max_size;
  return object;
}

Result<Operation> operation_from_json(const json::object& object) {
  Operation operation;
  std::string op;
  std::string part = "first";
  JsonFields fields(object, "an operation of the dataset");
  fields.required("op", op);
  const auto known = std::ranges::find(kKinds, std::string_view(op), &KindName::name);
  if (known == std::end(kKinds))
    return bad(fmt::format("'{}' is no operation on a dataset", shown(op)),
               "there are take, skip, sample, split and filter");
  operation.kind = known->kind;
  switch (operation.kind) {
    case OperationKind::kTake:
    case OperationKind::kSkip: fields.required("count", operation.count); break;
    case OperationKind::kSample:
      fields.optional("count", operation.count);
      fields.optional("fraction", operation.fraction);
      fields.optional("seed", operation.seed);
      break;
    case OperationKind::kSplit:
      fields.required("fraction", operation.fraction);
      fields.optional("seed", operation.seed);
      fields.optional("part", part);
      break;
    case OperationKind::kFilter:
      fields.optional("path", operation.pattern);
      fields.optional("min_size", operation.min_size);
      fields.optional("max_size", operation.max_size);
      break;
  }
  SLIPWAY_TRY(fields.finish());
  if (part != "first" && part != "second") return bad("the part of a split is first or second");
  operation.rest = part == "second";
  SLIPWAY_TRY(check_operation(operation));
  if (operation.pattern.size() > 4096 || !is_utf8(operation.pattern))
    return bad("the pattern of a filter is too long or no text");
  return operation;
}

std::string_view to_text(TableFormat format) {
  switch (format) {
    case TableFormat::kDelimited: return "delimited";
    case TableFormat::kParquet: return "parquet";
    case TableFormat::kJsonLines: return "json_lines";
  }
  return "delimited";
}

json::object to_json(const Table& table) {
  json::object object{{"format", to_text(table.format)}};
  if (table.format == TableFormat::kDelimited) {
    object["separator"] = table.separator;
    object["header"] = table.header;
  }
  if (!table.keep.empty()) object["keep"] = slipway::to_json(table.keep);
  if (!table.drop.empty()) object["drop"] = slipway::to_json(table.drop);
  if (!table.types.empty()) object["types"] = slipway::to_json(table.types);
  if (table.skip_rows > 0) object["skip_rows"] = table.skip_rows;
  if (table.take_rows) object["take_rows"] = *table.take_rows;
  return object;
}

Result<Table> table_from_json(const json::object& object) {
  Table table;
  std::string format;
  JsonFields fields(object, "the table");
  fields.required("format", format);
  fields.optional("separator", table.separator);
  fields.optional("header", table.header);
  fields.optional("keep", table.keep);
  fields.optional("drop", table.drop);
  fields.optional("types", table.types);
  fields.optional("skip_rows", table.skip_rows);
  fields.optional("take_rows", table.take_rows);
  SLIPWAY_TRY(fields.finish());
  const TableFormat formats[] = {TableFormat::kDelimited, TableFormat::kParquet, TableFormat::kJsonLines};
  const auto known = std::ranges::find_if(formats, [&](TableFormat each) { return to_text(each) == format; });
  if (known == std::end(formats))
    return bad(fmt::format("'{}' is no format of a table", shown(format)),
               "there are delimited, parquet and json_lines");
  table.format = *known;
  if (table.separator.size() != 1 || static_cast<unsigned char>(table.separator[0]) >= 0x80 ||
      std::string_view("\"\r\n").contains(table.separator[0]))
    return bad("the separator of a table is one character, and no quote or line end");
  SLIPWAY_TRY(check_columns(table));
  return table;
}

json::object to_json(const Definition& definition) {
  json::object object{{"kind", definition.table ? "table" : "file"},
                      {"paths", slipway::to_json(definition.paths)}};
  json::array operations;
  for (const Operation& operation : definition.operations) operations.push_back(to_json(operation));
  object["operations"] = std::move(operations);
  if (definition.table) object["table"] = to_json(*definition.table);
  if (!definition.from.empty()) object["from"] = definition.from;
  return object;
}

Result<Definition> definition_from_json(const json::object& object) {
  Definition definition;
  std::string kind = "file";
  json::array operations;
  std::optional<json::object> table;
  JsonFields fields(object, "the dataset");
  fields.optional("kind", kind);
  fields.optional("paths", definition.paths);
  fields.optional("operations", operations);
  fields.optional("table", table);
  fields.optional("from", definition.from);
  SLIPWAY_TRY(fields.finish());
  if (kind != "file" && kind != "table") return bad("the kind of a dataset is file or table");
  if (kind == "table" && !table)
    return bad("a dataset of the kind table says how its files are read: 'table'");
  if (kind == "file" && table) return bad("a file dataset has no 'table'", "say \"kind\": \"table\"");
  if (definition.paths.empty() && definition.from.empty())
    return bad("the dataset has no paths", "name files, folders, patterns or addresses");
  if (definition.paths.size() > kMaxPaths)
    return bad(fmt::format("a dataset is made of at most {} paths", kMaxPaths), "name folders or patterns");
  for (const std::string& path : definition.paths) SLIPWAY_TRY(parse_data_path(path));
  if (!definition.from.empty()) SLIPWAY_TRY(parse_dataset_ref(definition.from));
  SLIPWAY_ASSIGN(definition.operations, operations_from_json(operations));
  if (table) {
    SLIPWAY_ASSIGN(definition.table, table_from_json(*table));
  }
  return definition;
}

Result<DatasetRef> parse_dataset_ref(std::string_view text) {
  DatasetRef ref;
  const size_t colon = text.rfind(':');
  ref.name = text.substr(0, colon);
  SLIPWAY_TRY(check_name(ref.name, "dataset", kMaxName));
  if (colon == std::string_view::npos) return ref;
  const std::string_view version = text.substr(colon + 1);
  if (version == "latest") return ref;
  int number = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
  if (error != std::errc() || end != version.data() + version.size() || number < 1)
    return bad(fmt::format("'{}' is no version of a dataset", shown(version)),
               fmt::format("write {}:1, or {} for the newest", ref.name, ref.name));
  ref.version = number;
  return ref;
}

Result<DataPath> parse_data_path(std::string_view text) {
  if (text.empty() || text.size() > 8000 || !is_utf8(text))
    return bad("a path of a dataset is empty, too long or no text");
  if (is_url(text)) {
    SLIPWAY_TRY(parse_url(text));
    return DataPath{.is_url = true, .path = std::string(text)};
  }
  if (text.contains("://"))
    return bad(
        fmt::format("'{}' has a scheme that is not read", shown(text.substr(0, text.find("://")))),
        "addresses begin with http:// or https://; other places are datastores: slipway datastore add");
  const size_t colon = text.find(':');
  DataPath path;
  path.datastore = colon == std::string_view::npos ? "default" : text.substr(0, colon);
  SLIPWAY_TRY(check_name(path.datastore, "datastore"));
  std::string_view rest = colon == std::string_view::npos ? text : text.substr(colon + 1);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  path.path = rest;
  if (!path.path.empty() && !is_clean_relative_path(path.path))
    return bad(fmt::format("'{}' is no path below a datastore", shown(text)),
               "paths are relative, without '..', empty components and backslashes");
  return path;
}

}  // namespace slipway::data
