#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/quantities.h"
#include "cli/runs.h"
#include "cli/session.h"
#include "cli/table.h"
#include "client/download.h"

namespace slipway::cli {
namespace {

Result<int> list_files(Context& context, const std::string& name, const std::string& prefix) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object run, session.find_run(name));
  SLIPWAY_ASSIGN(json::array files, session.list(session.run_path(run) + "/files", {{"prefix", prefix}}, 0));
  Console& console = context.console;
  if (console.json()) {
    console.print_json(json::object{{"items", std::move(files)}});
    return 0;
  }
  if (files.empty()) {
    console.hint("the run has kept no files; a job's ./outputs is kept");
    return 0;
  }
  uint64_t total = 0;
  Table table({{"FILE", Align::kLeft, 20}, {"SIZE", Align::kRight}, {"DIGEST"}});
  for (const json::value& item : files) {
    const json::object& file = item.as_object();
    const uint64_t size = static_cast<uint64_t>(std::max<int64_t>(integer_at(file, "size"), 0));
    total += size;
    table.add({text_at(file, "path"), bytes_text(size), text_at(file, "digest").substr(0, 12)});
  }
  console.out(table.render(console.width(), console.colour_out()));
  console.hint(fmt::format("{}, {}; bring them here: slipway run download {}",
                           count_of(static_cast<int64_t>(files.size()), "file"), bytes_text(total),
                           text_at(run, "id")));
  return 0;
}

struct DownloadChoice {
  std::string run;
  std::vector<std::string> prefixes;
  std::string to;
};

// Each file once, though two prefixes may both name it.
Result<std::vector<client::RemoteFile>> chosen_files(Session& session, const json::object& run,
                                                     const std::vector<std::string>& prefixes) {
  if (prefixes.empty()) return client::list_run_files(session.requests(), text_at(run, "id"));
  std::map<std::string, client::RemoteFile> found;
  for (const std::string& prefix : prefixes) {
    SLIPWAY_ASSIGN(std::vector<client::RemoteFile> files,
                   client::list_run_files(session.requests(), text_at(run, "id"), prefix));
    if (files.empty())
      return fail(ErrorCode::kNotFound,
                  fmt::format("run {} has no file '{}'", text_at(run, "id"), printable(prefix, 128)),
                  fmt::format("see what it has: slipway run files {}", text_at(run, "id")));
    for (client::RemoteFile& file : files) {
      std::string path = file.path;
      found.emplace(std::move(path), std::move(file));
    }
  }
  std::vector<client::RemoteFile> all;
  all.reserve(found.size());
  for (auto& [path, file] : found) all.push_back(std::move(file));
  return all;
}

Result<int> download(Context& context, const DownloadChoice& choice) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object run, session.find_run(choice.run));
  Result<std::vector<client::RemoteFile>> files = chosen_files(session, run, choice.prefixes);
  if (!files) return fail(session.explained(std::move(files).error()));
  Console& console = context.console;
  const std::string folder = choice.to.empty() ? text_at(run, "id") : choice.to;
  client::DownloadOptions options;
  options.on_progress = [&console](const client::TransferProgress& at) {
    console.progress(fmt::format("downloading {} of {}, {} of {}", at.files_done,
                                 count_of(static_cast<int64_t>(at.files_total), "file"),
                                 bytes_text(at.bytes_done), bytes_text(at.bytes_total)));
  };
  const Result<client::DownloadSummary> summary =
      client::download_files(session.connection(), *files, folder, options);
  console.progress("");
  if (!summary) return fail(session.explained(summary.error()));
  if (console.json()) {
    console.print_json({{"folder", folder},
                        {"files", summary->files},
                        {"skipped", summary->skipped},
                        {"bytes", summary->bytes}});
    return 0;
  }
  console.line(folder);
  console.hint(fmt::format("{}, {} received{}",
                           count_of(static_cast<int64_t>(summary->files + summary->skipped), "file"),
                           bytes_text(summary->bytes),
                           summary->skipped == 0 ? "" : fmt::format("; {} already there", summary->skipped)));
  return 0;
}

}  // namespace

void add_run_files(Command run, Context& context) {
  struct Options {
    std::string run;
    std::string prefix;
  };
  const auto listed = std::make_shared<Options>();
  Command files = run.command("files", "List the files a run has kept", "slipway run files latest");
  files.positional("RUN", listed->run, "the run", Completes::kRun);
  files.option("--prefix", listed->prefix, "PATH", "only those whose path begins so");
  files.action([listed, &context] { return list_files(context, listed->run, listed->prefix); });

  const auto choice = std::make_shared<DownloadChoice>();
  Command get =
      run.command("download", "Bring the files of a run here", "slipway run download latest --to results");
  get.example("slipway run download latest outputs/model");
  get.positional("RUN", choice->run, "the run", Completes::kRun);
  get.positionals("PATH", choice->prefixes, "only files whose path begins so (all of them)",
                  Completes::kNothing, false);
  get.option("--to", choice->to, "DIR", "the folder to put them in (one named after the run)",
             Completes::kFolder);
  get.action([choice, &context] { return download(context, *choice); });
}

}  // namespace slipway::cli
