#include <future>

#include "client/upload.h"
#include "snapshot/git.h"
#include "snapshot/stat_cache.h"

namespace slipway::client {
namespace {

constexpr int kTries = 3;

}  // namespace

Result<Source> send_source(const Connection& connection, const std::filesystem::path& folder,
                           const SourceOptions& options) {
  // Says what is wrong with the folder before anything is started for it.
  SLIPWAY_TRY(snapshot::open_source(folder));
  auto git = std::async(std::launch::async, [&folder] { return snapshot::read_git_state(folder); });
  snapshot::TakeOptions take{.limits = options.limits, .on_progress = options.on_hash};
  if (options.use_cache) take.cache_file = snapshot::stat_cache_path(folder);
  for (int tries = 1;; ++tries) {
    SLIPWAY_ASSIGN(snapshot::Snapshot taken, snapshot::take_snapshot(folder, take));
    const auto sent = upload_snapshot(connection, folder, taken.manifest,
                                      {.probably_known = taken.hashed_files == 0,
                                       .retry = options.retry,
                                       .on_progress = options.on_upload});
    // A file that is another one by now: its new state is as good.
    if (!sent && sent.error().code == ErrorCode::kConflict && tries < kTries) continue;
    if (!sent) return fail(sent.error());
    return Source{.manifest = std::move(taken.manifest),
                  .skipped = std::move(taken.skipped),
                  .git = git.get(),
                  .sent = *sent};
  }
}

}  // namespace slipway::client
