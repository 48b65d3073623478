#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <memory>

#include "cli/answer.h"
#include "cli/data.h"
#include "cli/data_upload.h"
#include "cli/quantities.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

// A folder of millions of files is read for minutes before the server answers.
constexpr std::chrono::hours kLongestCreation{6};

struct CreateOptions {
  std::string name;
  std::vector<std::string> paths;
  std::string from;
  std::string description;
  std::map<std::string, std::string> tags;
  std::vector<std::string> filters;
  std::string min_size, max_size;
  std::optional<int64_t> skip, take;
  std::string sample;
  std::optional<int64_t> seed;
  std::string format;
  std::string separator;
  bool no_header = false;
  std::vector<std::string> keep, drop;
  std::map<std::string, std::string> types;
  std::optional<int64_t> skip_rows, rows;
};

struct SplitOptions {
  std::string dataset;
  double fraction = 0.8;
  int64_t seed = 0;
  std::string first;
  std::string second;
};

// "0.1" is a fraction, "500" a number of files.
Status add_sample(const CreateOptions& options, json::array& operations) {
  double number = 0;
  const char* end = options.sample.data() + options.sample.size();
  const auto [stop, error] = std::from_chars(options.sample.data(), end, number);
  if (error != std::errc() || stop != end || number <= 0 ||
      (number >= 1 && number != static_cast<double>(static_cast<int64_t>(number))))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no size of a sample", printable(options.sample)),
                "write 0.1 for a tenth of the files, or 500 for that many");
  json::object operation{{"op", "sample"}, {"seed", options.seed.value_or(0)}};
  if (number < 1) {
    operation["fraction"] = json_number(number);
  } else {
    operation["count"] = static_cast<int64_t>(number);
  }
  operations.push_back(std::move(operation));
  return {};
}

// In a fixed order: filters, skip, sample, take.
Result<json::array> operations_of(const CreateOptions& options) {
  json::array operations;
  for (const std::string& filter : options.filters)
    operations.push_back(json::object{{"op", "filter"}, {"path", filter}});
  if (!options.min_size.empty() || !options.max_size.empty()) {
    json::object filter{{"op", "filter"}};
    if (!options.min_size.empty()) {
      SLIPWAY_ASSIGN(filter["min_size"], parse_bytes(options.min_size));
    }
    if (!options.max_size.empty()) {
      SLIPWAY_ASSIGN(filter["max_size"], parse_bytes(options.max_size));
    }
    operations.push_back(std::move(filter));
  }
  if (options.skip) operations.push_back(json::object{{"op", "skip"}, {"count", *options.skip}});
  if (!options.sample.empty()) SLIPWAY_TRY(add_sample(options, operations));
  if (options.take) operations.push_back(json::object{{"op", "take"}, {"count", *options.take}});
  if (options.seed && options.sample.empty())
    return fail(ErrorCode::kInvalidArgument, "--seed is for --sample", "add --sample 0.1, or leave it out");
  return operations;
}

Result<json::object> table_of(const CreateOptions& options) {
  const bool told = !options.separator.empty() || options.no_header || !options.keep.empty() ||
                    !options.drop.empty() || !options.types.empty() || options.skip_rows || options.rows;
  if (options.format.empty()) {
    if (told)
      return fail(ErrorCode::kInvalidArgument, "columns and rows are a table's",
                  "say what its files are: --table delimited, --table parquet or --table json_lines");
    return json::object();
  }
  json::object table{{"format", options.format}};
  if (!options.separator.empty()) table["separator"] = options.separator == "\\t" ? "\t" : options.separator;
  if (options.no_header) table["header"] = false;
  if (!options.keep.empty()) table["keep"] = to_json(options.keep);
  if (!options.drop.empty()) table["drop"] = to_json(options.drop);
  if (!options.types.empty()) table["types"] = to_json(options.types);
  if (options.skip_rows) table["skip_rows"] = *options.skip_rows;
  if (options.rows) table["take_rows"] = *options.rows;
  return table;
}

// "./folder", "../folder" and "/folder" are here, and sent; everything else is the server's to look at.
bool is_local(const std::string& path) {
  return path == "." || path == ".." || path.starts_with("./") || path.starts_with("../") ||
         path.starts_with('/') || path.starts_with('~');
}

Result<std::string> sent_path(Context& context, Session& session, const std::string& path) {
  SLIPWAY_ASSIGN(const UploadedData uploaded,
                 upload_data(context, session, {.from = path, .existing = "refuse"}));
  context.console.hint(fmt::format("{}: {}, {} sent", printable(path),
                                   count_of(static_cast<int64_t>(uploaded.files), "file"),
                                   bytes_text(uploaded.sent_bytes)));
  std::error_code error;
  const bool one_file = fs::is_regular_file(path, error);
  return fmt::format("{}:{}{}", uploaded.datastore, uploaded.path,
                     one_file ? "/" + fs::path(path).filename().string() : "");
}

// One request that may take long: not repeated, since it is not lost while the connection stands.
Result<json::object> create_on_server(Session& session, const json::object& body) {
  client::Connection connection = session.connection();
  connection.http.answer_time = kLongestCreation;
  client::Requests requests(connection);
  auto made = requests.create(session.in_workspace("/data"), body);
  if (!made) return fail(session.explained(std::move(made).error()));
  return made;
}

// A dataset's name as the name of an input, which becomes an environment variable.
std::string input_name(std::string name) {
  for (char& c : name)
    if (c == '-' || c == '.') c = '_';
  return name.front() >= '0' && name.front() <= '9' ? "data_" + name : name;
}

Result<int> create_dataset(Context& context, const CreateOptions& options) {
  SLIPWAY_TRY(check_name(options.name, "dataset", 255));
  if (options.paths.empty() == options.from.empty())
    return fail(ErrorCode::kInvalidArgument,
                "a dataset is made of paths, or from another dataset with --from: one of the two",
                "slipway data create mnist images:train/**/*.png");
  SLIPWAY_ASSIGN(json::array operations, operations_of(options));
  SLIPWAY_ASSIGN(json::object table, table_of(options));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  json::object definition{{"operations", std::move(operations)}};
  if (!options.from.empty()) definition["from"] = options.from;
  json::array paths;
  for (const std::string& path : options.paths) {
    if (!is_local(path)) {
      paths.emplace_back(path);
      continue;
    }
    SLIPWAY_ASSIGN(const std::string sent, sent_path(context, session, path));
    paths.emplace_back(sent);
  }
  if (!paths.empty()) definition["paths"] = std::move(paths);
  if (!table.empty()) {
    definition["kind"] = "table";
    definition["table"] = std::move(table);
  }
  json::object body{
      {"name", options.name}, {"definition", std::move(definition)}, {"tags", to_json(options.tags)}};
  if (!options.description.empty()) body["description"] = options.description;
  SLIPWAY_ASSIGN(const json::object made, create_on_server(session, body));
  print_dataset(context, made);
  if (flag_at(made, "existed")) {
    context.console.hint("nothing has changed: this version was there already");
    return 0;
  }
  const std::string input = input_name(options.name);
  context.console.hint(
      fmt::format("use it: slipway submit --input {}={} -- python train.py --data '${{inputs.{}}}'", input,
                  options.name, input));
  return 0;
}

Result<int> split_dataset(Context& context, const SplitOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object base, session.get(data_path(session, options.dataset)));
  const std::string version = fmt::format("{}:{}", text_at(base, "name"), integer_at(base, "version"));
  json::array made;
  for (const auto& [name, part] :
       {std::pair{&options.first, "first"}, std::pair{&options.second, "second"}}) {
    const json::object split{
        {"op", "split"}, {"fraction", json_number(options.fraction)}, {"seed", options.seed}, {"part", part}};
    const json::object body{{"name", *name},
                            {"definition", {{"from", version}, {"operations", json::array{split}}}}};
    SLIPWAY_ASSIGN(json::object one, create_on_server(session, body));
    if (!context.console.json()) print_dataset(context, one);
    made.push_back(std::move(one));
  }
  if (context.console.json()) context.console.print_json(json::object{{"items", std::move(made)}});
  return 0;
}

void add_table_options(Command create, CreateOptions& options) {
  create.choice("--table", options.format, {"delimited", "parquet", "json_lines"}, "the files are a table");
  create.option("--separator", options.separator, "CHAR", "between the fields of delimited files (,)");
  create.flag("--no-header", options.no_header, "the first line is a row like the others");
  create.option("--keep", options.keep, "COLUMN", "a column to keep; may be repeated");
  create.option("--drop", options.drop, "COLUMN", "a column to drop; may be repeated");
  create.option("--type", options.types, "COLUMN=TYPE", "string, integer, float, boolean or datetime");
  create.option("--skip-rows", options.skip_rows, "N", "rows to leave out at the beginning");
  create.option("--rows", options.rows, "N", "rows at most");
}

}  // namespace

void add_data_create(Command data, Context& context) {
  const auto options = std::make_shared<CreateOptions>();
  Command create = data.command("create", "Create a dataset, or a new version when something has changed",
                                "slipway data create mnist http://host/train-images-idx3-ubyte.gz "
                                "http://host/train-labels-idx1-ubyte.gz");
  create.example("slipway data create pictures 'images:train/**/*.jpg' --sample 0.1 --seed 7");
  create.example("slipway data create local ./folder --tag owner=me");
  create.example("slipway data create small --from pictures:2 --take 100");
  create.example("slipway data create iris ./iris.csv --table delimited --type sepal_length=float");
  create.positional("NAME", options->name, "its name", Completes::kDataset);
  create.positionals("PATH", options->paths,
                     "an address, DATASTORE:PATH with * and **, or ./folder, which is uploaded",
                     Completes::kFile, false);
  create.option("--from", options->from, "NAME[:VERSION]", "make it from that dataset's files",
                Completes::kDataset);
  create.option("--description", options->description, "TEXT", "what it is");
  create.option("--tag,-t", options->tags, "NAME=VALUE", "a tag; may be repeated");
  create.option("--filter", options->filters, "PATTERN", "keep files whose path matches; may be repeated");
  create.option("--min-size", options->min_size, "SIZE", "keep files of at least this size: 500, 1KiB, 4M");
  create.option("--max-size", options->max_size, "SIZE", "keep files of at most this size");
  create.option("--skip", options->skip, "N", "leave out the first N files");
  create.option("--sample", options->sample, "SIZE", "a random part: 0.1 of the files, or 500 of them");
  create.option("--seed", options->seed, "N", "which random part (0)");
  create.option("--take", options->take, "N", "keep the first N files of what is left");
  add_table_options(create, *options);
  create.action([options, &context] { return create_dataset(context, *options); });

  const auto parts = std::make_shared<SplitOptions>();
  Command split = data.command("split", "Split a dataset at random into two",
                               "slipway data split mnist train test "
                               "--fraction 0.8 --seed 7");
  split.positional("NAME[:VERSION]", parts->dataset, "the dataset; without a version the newest",
                   Completes::kDataset);
  split.positional("FIRST", parts->first, "the dataset with the fraction");
  split.positional("SECOND", parts->second, "the dataset with the rest");
  split.option("--fraction", parts->fraction, "F", "of the files that go into the first (0.8)");
  split.option("--seed", parts->seed, "N", "which random split (0)");
  split.action([parts, &context] { return split_dataset(context, *parts); });
}

}  // namespace slipway::cli
