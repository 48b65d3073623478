#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <mutex>

#include "base/file.h"
#include "cli/answer.h"
#include "cli/data_upload.h"
#include "cli/datastores.h"
#include "cli/quantities.h"
#include "cli/table.h"
#include "client/download.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSkippedShown = 5;

struct FilesWish {
  std::string datastore;
  std::string path;
  std::string local;
  bool overwrite = false;
};

// A folder's prefix; a file has none that would find it, so the path itself is looked for as well.
Result<json::array> list_below(Session& session, const std::string& store, const std::string& path) {
  const std::string target = datastore_path(session, store) + "/files";
  std::string folder = path;
  if (!folder.empty() && !folder.ends_with('/')) folder += '/';
  SLIPWAY_ASSIGN(json::array found, session.list(target, {{"prefix", folder}, {"limit", "10000"}}, 0));
  if (!found.empty() || path.empty() || path.ends_with('/')) return found;
  SLIPWAY_ASSIGN(json::array near, session.list(target, {{"prefix", path}, {"limit", "1"}}, 1));
  for (json::value& item : near)
    if (text_at(item.as_object(), "path") == path) found.push_back(std::move(item));
  return found;
}

std::unexpected<Error> nothing_there(const FilesWish& wish) {
  return fail(
      ErrorCode::kNotFound,
      fmt::format("the datastore '{}' has no file at '{}'", printable(wish.datastore), printable(wish.path)),
      fmt::format("slipway datastore ls {} shows what it has", printable(wish.datastore)));
}

Result<int> list_files(Context& context, const FilesWish& wish) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array files, list_below(session, wish.datastore, wish.path));
  if (files.empty() && !wish.path.empty()) return nothing_there(wish);
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(files)}});
    return 0;
  }
  Table table({{"SIZE", Align::kRight}, {"PATH"}, {"", Align::kLeft, 10}});
  for (const json::value& item : files) {
    const json::object& file = item.as_object();
    const std::string refused = text_at(file, "refused");
    table.add({refused.empty() ? bytes_text(static_cast<uint64_t>(integer_at(file, "size"))) : "-",
               text_at(file, "path"), Cell(refused, Colour::kYellow)});
  }
  if (table.empty()) {
    context.console.hint(fmt::format("the datastore '{}' is empty", wish.datastore));
    return 0;
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  return 0;
}

Result<int> upload(Context& context, const FilesWish& wish) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const UploadedData uploaded, upload_data(context, session,
                                                          {.from = wish.local,
                                                           .datastore = wish.datastore,
                                                           .path = wish.path,
                                                           .existing = wish.overwrite ? "replace" : "skip"}));
  if (context.console.json()) {
    json::array skipped;
    for (const std::string& path : uploaded.skipped) skipped.emplace_back(path);
    context.console.print_json(json::object{{"datastore", uploaded.datastore},
                                            {"path", uploaded.path},
                                            {"files", uploaded.files},
                                            {"bytes", uploaded.bytes},
                                            {"sent_bytes", uploaded.sent_bytes},
                                            {"skipped", std::move(skipped)}});
    return 0;
  }
  context.console.line(fmt::format("{}:{}", uploaded.datastore, uploaded.path));
  context.console.hint(fmt::format("{}, {}; {} sent", count_of(static_cast<int64_t>(uploaded.files), "file"),
                                   bytes_text(uploaded.bytes), bytes_text(uploaded.sent_bytes)));
  if (uploaded.skipped.empty()) return 0;
  context.console.hint(fmt::format("{} skipped, there with another content (--overwrite replaces them):",
                                   count_of(static_cast<int64_t>(uploaded.skipped.size()), "file")));
  for (size_t i = 0; i < std::min(uploaded.skipped.size(), kSkippedShown); ++i)
    context.console.hint("  " + printable(uploaded.skipped[i]));
  return 0;
}

// Files with a digest go through the client library, which goes on where it stopped and checks them; a
// folder's are read as they are.
Result<int> download(Context& context, const FilesWish& wish) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::array found, list_below(session, wish.datastore, wish.path));
  if (found.empty()) return nothing_there(wish);
  const size_t base =
      wish.path.empty() || found.size() > 1 || !wish.path.contains('/') ? 0 : wish.path.rfind('/') + 1;
  const std::string content = datastore_path(session, wish.datastore) + "/content";
  std::vector<client::RemoteFile> files;
  for (const json::value& item : found) {
    const json::object& file = item.as_object();
    const std::string path = text_at(file, "path");
    const auto digest = Digest::parse(text_at(file, "digest"));
    if (!digest)
      return fail(ErrorCode::kUnsupported,
                  fmt::format("the datastore '{}' is not one of the workspace's own", wish.datastore),
                  "make a dataset of it and download that: slipway data create, slipway data download");
    files.push_back({.path = path.substr(base),
                     .target = content + client::to_text({{"path", path}}),
                     .size = static_cast<uint64_t>(integer_at(file, "size")),
                     .digest = *digest,
                     .mode = 0644});
  }
  client::DownloadOptions options;
  std::mutex drawing;  // progress comes from several threads
  options.on_progress = [&](const client::TransferProgress& at) {
    const std::lock_guard lock(drawing);
    context.console.progress(
        fmt::format("receiving {} of {}", bytes_text(at.bytes_done), bytes_text(at.bytes_total)));
  };
  const fs::path folder = wish.local.empty() ? "." : wish.local;
  auto done = client::download_files(session.connection(), files, folder, options);
  context.console.progress("");
  if (!done) return fail(session.explained(std::move(done).error()));
  if (context.console.json()) {
    context.console.print_json(json::object{{"folder", folder.string()},
                                            {"files", done->files},
                                            {"skipped", done->skipped},
                                            {"bytes", done->bytes}});
    return 0;
  }
  context.console.hint(fmt::format("{} to {}, {} already there",
                                   count_of(static_cast<int64_t>(done->files), "file"), folder.string(),
                                   done->skipped));
  return 0;
}

Result<int> remove_file(Context& context, const FilesWish& wish) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_TRY(session.remove(datastore_path(session, wish.datastore) + "/files" +
                             client::to_text({{"path", wish.path}})));
  if (context.console.json()) context.console.print_json(json::object{{"path", wish.path}});
  context.console.hint(fmt::format("'{}' removed; datasets that have it keep it", wish.path));
  return 0;
}

}  // namespace

void add_datastore_files(Command datastore, Context& context) {
  const auto listed = std::make_shared<FilesWish>();
  Command ls = datastore.command("ls", "List the files of a datastore", "slipway datastore ls images train");
  ls.positional("NAME", listed->datastore, "the datastore", Completes::kDatastore);
  ls.positional("PATH", listed->path, "a folder in it (all of it)", Completes::kNothing, false);
  ls.action([listed, &context] { return list_files(context, *listed); });

  const auto sent = std::make_shared<FilesWish>();
  Command up = datastore.command("upload", "Upload a folder or a file to the workspace's own store",
                                 "slipway datastore upload workspaceblobstore ./images train");
  up.positional("NAME", sent->datastore, "the datastore ('default' for the default one)",
                Completes::kDatastore);
  up.positional("FROM", sent->local, "a folder or a file here", Completes::kFile);
  up.positional("PATH", sent->path, "where it goes (uploads/ and a digest)", Completes::kNothing, false);
  up.flag("--overwrite", sent->overwrite, "replace files that have another content; else they are skipped");
  up.action([sent, &context] { return upload(context, *sent); });

  const auto fetched = std::make_shared<FilesWish>();
  Command down = datastore.command("download", "Download a folder or a file of the workspace's own store",
                                   "slipway datastore download workspaceblobstore train ./images");
  down.positional("NAME", fetched->datastore, "the datastore", Completes::kDatastore);
  down.positional("PATH", fetched->path, "a folder or a file in it");
  down.positional("DIR", fetched->local, "where it goes (here)", Completes::kFolder, false);
  down.action([fetched, &context] { return download(context, *fetched); });

  const auto removed = std::make_shared<FilesWish>();
  Command rm = datastore.command("rm", "Remove a file from the workspace's own store",
                                 "slipway datastore rm workspaceblobstore train/1.png");
  rm.positional("NAME", removed->datastore, "the datastore", Completes::kDatastore);
  rm.positional("PATH", removed->path, "the file");
  rm.action([removed, &context] { return remove_file(context, *removed); });
}

}  // namespace slipway::cli
