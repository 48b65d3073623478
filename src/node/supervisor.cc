#include "node/supervisor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/log.h"
#include "launch/spec.h"
#include "node/process_group.h"
#include "node/supervisor_attempt.h"
#include "node/supervisor_feed.h"
#include "node/supervisor_mounts.h"

namespace slipway::node {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

Result<FileLock> take_lock(const fs::path& folder) {
  SLIPWAY_ASSIGN(std::optional<FileLock> lock, FileLock::try_take(folder / "lock"));
  if (!lock)
    return fail(ErrorCode::kConflict,
                fmt::format("the attempt in {} has a supervisor already", folder.string()));
  return std::move(*lock);
}

// The account of the attempt is worth waiting for: the disk may be full for now. Should it stay full, the
// agent finds no supervisor and no exit record, and writes one with end_orphans.
Status finish(JournalFeed& feed, const ExitStatus& status) {
  const std::string payload = json::serialize(to_json(status));
  constexpr int kTries = 600;
  for (int i = 1;; ++i) {
    Status finished = feed.finish(payload);
    if (finished || i == kTries) return finished;
    std::this_thread::sleep_for(1s);
  }
}

ExitStatus could_not_start(std::string reason, const Clock& clock) {
  ExitStatus status;
  status.code = 126;
  status.reason = std::move(reason);
  status.started = status.ended = clock.now();
  return status;
}

// What the mounts' order came by; whoever else reads our standard input finds nothing.
constexpr int kMountOrder = STDIN_FILENO;

}  // namespace

Status supervise(const std::string& folder_name) {
  std::error_code error;
  const fs::path folder = fs::absolute(folder_name, error);
  SLIPWAY_ASSIGN(const FileLock lock, take_lock(folder));
  SLIPWAY_ASSIGN(journal::Writer writer, journal::Writer::open(folder / "journal"));
  if (writer.ended())
    return fail(ErrorCode::kConflict, fmt::format("the attempt in {} has ended already", folder.string()));
  const SystemClock clock;
  const auto spec = launch::read_spec(folder);
  // First of all: it forks, and what it leaves behind must not be our child (supervisor_mounts.h).
  Result<std::unique_ptr<AttemptMounts>> mounts(nullptr);
  if (spec && !spec->mounts.empty()) mounts = AttemptMounts::start(kMountOrder);
  JournalFeed feed(std::move(writer), folder, spec ? spec->log_quota_bytes : 0, clock);
  if (!spec)
    return finish(
        feed, could_not_start(
                  fmt::format("the order of this attempt cannot be read: {}", spec.error().message), clock));
  if (!mounts) return finish(feed, could_not_start(mounts.error().message, clock));
  Attempt attempt(folder, *spec, feed, mounts->get(), clock);
  return finish(feed, attempt.run());
}

Status end_orphans(const std::string& folder_name, std::string_view reason) {
  std::error_code error;
  const fs::path folder = fs::absolute(folder_name, error);
  SLIPWAY_ASSIGN(const FileLock lock, take_lock(folder));
  const auto spec = launch::read_spec(folder);
  if (spec) {
    SLIPWAY_TRY(end_group(spec->mark));
    ::unlink(spec->socket.c_str());
  }
  SLIPWAY_ASSIGN(journal::Writer writer, journal::Writer::open(folder / "journal"));
  if (writer.ended()) return {};
  const SystemClock clock;
  ExitStatus status;
  status.code = 128 + 9;
  status.signal = 9;
  status.reason = std::string(reason);
  status.started = status.ended = clock.now();
  writer.add(journal::Kind::kExit, clock.now(), json::serialize(to_json(status)));
  SLIPWAY_TRY(writer.flush());
  return writer.sync();
}

}  // namespace slipway::node
