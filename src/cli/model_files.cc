#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/models.h"
#include "cli/quantities.h"
#include "client/download.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

constexpr size_t kMostShown = 200;

struct DownloadOptions {
  std::string model;
  std::string folder = ".";
  bool exist_ok = false;
};

Result<std::vector<client::RemoteFile>> list_files(Session& session, const std::string& path) {
  SLIPWAY_ASSIGN(const json::array items, session.list(path + "/files", {}, 0));
  std::vector<client::RemoteFile> files;
  for (const json::value& item : items) {
    const json::object& file = item.as_object();
    SLIPWAY_ASSIGN(const Digest digest, Digest::parse(text_at(file, "digest")));
    files.push_back({.path = text_at(file, "path"),
                     .target = path + "/content?path=" + http::percent_encode(text_at(file, "path")),
                     .size = static_cast<uint64_t>(std::max<int64_t>(integer_at(file, "size"), 0)),
                     .digest = digest,
                     .mode = static_cast<int>(integer_at(file, "mode", 0644))});
  }
  return files;
}

// The names at the top, of which a model mostly has one.
std::vector<std::string> top_names(const std::vector<client::RemoteFile>& files) {
  std::vector<std::string> names;
  for (const client::RemoteFile& file : files) {
    std::string name = file.path.substr(0, file.path.find('/'));
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

Result<int> download(Context& context, const DownloadOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object model, session.get(model_path(session, options.model)));
  // By its exact version from here on, though a newer one may come meanwhile.
  SLIPWAY_ASSIGN(const auto files, list_files(session, model_path(session, text_at(model, "id"))));
  const std::filesystem::path folder(options.folder);
  const std::vector<std::string> names = top_names(files);
  std::error_code unknown;
  for (const std::string& name : names)
    if (!options.exist_ok && std::filesystem::exists(folder / name, unknown))
      return fail(ErrorCode::kConflict, fmt::format("{} is there already", (folder / name).string()),
                  "choose another folder, or replace it with --overwrite");
  Console& console = context.console;
  client::DownloadOptions how;
  how.on_progress = [&console](const client::TransferProgress& at) {
    console.progress(
        fmt::format("downloading {} of {}", bytes_text(at.bytes_done), bytes_text(at.bytes_total)));
  };
  const auto summary = client::download_files(session.connection(), files, folder, how);
  console.progress("");
  if (!summary) return fail(session.explained(summary.error()));
  const std::string at = (names.size() == 1 ? folder / names.front() : folder).string();
  if (console.json()) {
    console.print_json({{"model", text_at(model, "id")},
                        {"path", at},
                        {"files", summary->files},
                        {"skipped", summary->skipped},
                        {"bytes", summary->bytes}});
    return 0;
  }
  console.line(at);
  console.hint(fmt::format("{}: {}, {} received", text_at(model, "id"),
                           count_of(static_cast<int64_t>(files.size()), "file"), bytes_text(summary->bytes)));
  return 0;
}

std::string diff_text(const json::object& diff, bool colour) {
  std::string out =
      fmt::format("from {}\nto   {}\n", printable(text_at(diff, "from")), printable(text_at(diff, "to")));
  const auto side = [&](std::string_view sign, Colour paint_as, const json::value& value) {
    out += "  " + paint(fmt::format("{} {}", sign, printable(value_text(value))), paint_as, colour) + "\n";
  };
  for (const auto& [name, value] : object_at(diff, "facts")) {
    if (!value.is_object()) continue;
    out += fmt::format("\n{}\n", paint(name, Colour::kBold, colour));
    side("-", Colour::kRed, value.get_object().at("from"));
    side("+", Colour::kGreen, value.get_object().at("to"));
  }
  const json::array& files = array_at(diff, "files");
  if (files.empty()) return out + "\nthe files are the same\n";
  out += fmt::format("\n{}\n", paint("files", Colour::kBold, colour));
  for (size_t i = 0; i < std::min(files.size(), kMostShown); ++i) {
    const json::object& file = files[i].as_object();
    out += fmt::format("  {:<9} {}\n", text_at(file, "change"), printable(text_at(file, "path")));
  }
  if (files.size() > kMostShown) out += fmt::format("  and {} more\n", files.size() - kMostShown);
  return out;
}

Result<int> diff(Context& context, const std::string& from, const std::string& to) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object answer, session.get(session.in_workspace("/model-diff") +
                                                        client::to_text({{"from", from}, {"to", to}})));
  if (context.console.json())
    context.console.print_json(answer);
  else
    context.console.out(diff_text(answer, context.console.colour_out()));
  return 0;
}

}  // namespace

void add_model_files(Command model, Context& context) {
  const auto options = std::make_shared<DownloadOptions>();
  Command get =
      model.command("download", "Bring the files of a version here", "slipway model download digits:3");
  get.example("slipway model download digits ./models --overwrite");
  get.positional("NAME[:VERSION]", options->model, "the model; without a version the newest",
                 Completes::kModel);
  get.positional("DIR", options->folder, "the folder to put it in (this one)", Completes::kFolder, false);
  get.flag("--overwrite", options->exist_ok, "replace what is there");
  get.action([options, &context] { return download(context, *options); });

  const auto names = std::make_shared<std::pair<std::string, std::string>>();
  Command compare = model.command("diff", "Say what changed between two versions: files, facts, signature",
                                  "slipway model diff digits:2 digits:3");
  compare.positional("FROM", names->first, "a version", Completes::kModel);
  compare.positional("TO", names->second, "another", Completes::kModel);
  compare.action([names, &context] { return diff(context, names->first, names->second); });
}

}  // namespace slipway::cli
