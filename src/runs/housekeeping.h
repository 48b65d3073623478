// Frees what nothing needs any more, now and then and when asked: blobs without a reference, snapshots that
// were never run, interrupted uploads, idempotency keys, logs of deleted runs. One thread of its own.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "blobs/blob_store.h"
#include "blobs/references.h"
#include "runs/log_store.h"
#include "store/database.h"

namespace slipway::runs {

class Housekeeping {
 public:
  Housekeeping(store::Database& database, blobs::BlobStore& blobs, LogStore& logs, const Clock& clock);
  ~Housekeeping() { stop(); }

  void start();
  void stop();
  // Something was deleted: look soon.
  void wake();

 private:
  void loop();
  void tidy();

  store::Database& database_;
  LogStore& logs_;
  const Clock& clock_;
  blobs::Sweeper sweeper_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool asked_ = false;
  std::thread thread_;
};

}  // namespace slipway::runs
