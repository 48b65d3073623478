#include <fmt/format.h>

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>

#include "cli/answer.h"
#include "cli/data_transfer.h"
#include "cli/interruption.h"
#include "cli/quantities.h"
#include "data/mount/attach.h"
#include "data/mount/serve.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto kLook = std::chrono::milliseconds(200);
constexpr uint64_t kCacheBytes = 20ULL << 30;

struct MountChoice {
  std::string dataset;
  std::string folder;
  bool no_verify = false;
};

Result<fs::path> make_mount_folder(const std::string& name) {
  std::error_code error;
  fs::path folder = fs::absolute(name, error);
  data::detach_dead_mounts(folder);
  fs::create_directories(folder, error);
  if (error) return fail(errno_error(error.value(), fmt::format("create {}", folder.string())));
  if (!fs::is_empty(folder, error) || error)
    return fail(ErrorCode::kConflict, fmt::format("{} is not empty", folder.string()),
                "choose an empty folder, or one that is not there yet");
  return folder;
}

Result<int> mount(Context& context, const MountChoice& choice) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(FoundVersion found, find_version(session, choice.dataset));
  SLIPWAY_ASSIGN(const fs::path folder, make_mount_folder(choice.folder));
  SLIPWAY_ASSIGN(const data::MountWay way, data::find_mount_way(folder));
  data::MountOrder order{.cache = (context.home() / "cache").string(),
                         .cache_bytes = kCacheBytes,
                         .way = way,
                         .server = std::move(found.server),
                         .mounts = {}};
  order.mounts.push_back({.at = folder.string(),
                          .dataset = found.dataset,
                          .verify = !choice.no_verify,
                          .sources = std::move(found.sources),
                          .content = std::move(found.content),
                          .manifest = std::move(found.manifest)});
  std::mutex mutex;
  std::condition_variable woken;
  const Interruption interruption([&woken] { woken.notify_all(); });
  Console& console = context.console;
  SLIPWAY_ASSIGN(auto server, data::MountServer::start(std::move(order), [&](const Error& error) {
                   const std::lock_guard lock(mutex);
                   console.error(error);
                 }));
  if (console.json())
    console.print_json({{"dataset", found.dataset}, {"folder", folder.string()}});
  else
    console.line(folder.string());
  console.flush();
  console.hint(fmt::format("{} is mounted; Ctrl-C unmounts it", found.dataset));
  {
    std::unique_lock lock(mutex);
    while (!interruption.happened() && server->serving()) woken.wait_for(lock, kLook);
  }
  server.reset();
  console.hint(fmt::format("{} is unmounted", found.dataset));
  return 0;
}

}  // namespace

void add_data_mount(Command data, Context& context) {
  const auto choice = std::make_shared<MountChoice>();
  Command command = data.command("mount", "Show a dataset's version as a folder, read only, until Ctrl-C",
                                 "slipway data mount mnist:2 ./mnist");
  command.positional("NAME[:VERSION]", choice->dataset, "the dataset; without a version the newest",
                     Completes::kDataset);
  command.positional("DIR", choice->folder, "an empty folder, or one that is not there yet",
                     Completes::kFolder);
  command.flag("--no-verify", choice->no_verify, "show content that is not the version's any more as it is");
  command.action([choice, &context] { return mount(context, *choice); });
}

}  // namespace slipway::cli
