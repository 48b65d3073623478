#include "runs/housekeeping.h"

#include "base/log.h"
#include "runs/deletion.h"
#include "runs/snapshots.h"
#include "store/idempotency.h"

namespace slipway::runs {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr Duration kEvery = hours(1);
// A blob is there a moment before its first reference; after that long without one it is nobody's.
constexpr Duration kBlobGrace = seconds(10);
constexpr Duration kKeepKeys = hours(24 * 7);
constexpr Duration kKeepUnusedSnapshots = hours(24);

Timestamp before(Timestamp now, Duration age) {
  return {now.micros - age.count()};
}

}  // namespace

Housekeeping::Housekeeping(store::Database& database, blobs::BlobStore& blobs, LogStore& logs,
                           const Clock& clock)
    : database_(database), logs_(logs), clock_(clock), sweeper_(database, blobs, clock, kBlobGrace) {}

void Housekeeping::start() {
  thread_ = std::thread([this] { loop(); });
}

void Housekeeping::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Housekeeping::wake() {
  {
    const std::lock_guard lock(mutex_);
    asked_ = true;
  }
  changed_.notify_all();
}

void Housekeeping::loop() {
  bool again_soon = true;  // the first look comes a moment after the start, which must not wait for it
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const Duration wait = again_soon ? kBlobGrace + seconds(1) : kEvery;
      changed_.wait_for(lock, wait, [&] { return stopping_ || asked_; });
      if (stopping_) return;
      // What was deleted just now may be within its grace: look once more when that is over.
      again_soon = std::exchange(asked_, false);
    }
    tidy();
  }
}

void Housekeeping::tidy() {
  const Timestamp now = clock_.now();
  const Status forgotten = database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_TRY(store::forget_made(writer, before(now, kKeepKeys)));
    return drop_unused_snapshots(writer, before(now, kKeepUnusedSnapshots));
  });
  if (!forgotten) log_warning("housekeeping.failed", {{"error", forgotten.error()}});
  if (const Status logs = delete_orphaned_logs(database_, logs_); !logs)
    log_warning("housekeeping.logs_failed", {{"error", logs.error()}});
  const auto swept = sweeper_.sweep();
  if (!swept) {
    log_warning("sweep.failed", {{"error", swept.error()}});
  } else if (swept->blobs > 0) {
    log_info("sweep.done", {{"blobs", swept->blobs}, {"bytes", swept->bytes}});
  }
}

}  // namespace slipway::runs
