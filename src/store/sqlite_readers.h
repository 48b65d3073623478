// A pool of read connections. Thread-safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "store/database.h"
#include "store/sqlite_connection.h"

namespace slipway::store {

class ReaderPool {
 public:
  explicit ReaderPool(const SqliteOptions& options) : options_(options) {}

  Status read(const std::function<Status(Reader&)>& work);

 private:
  Result<std::unique_ptr<Connection>> take();
  void give_back(std::unique_ptr<Connection> connection);

  const SqliteOptions options_;
  std::mutex mutex_;
  std::condition_variable came_back_;
  std::vector<std::unique_ptr<Connection>> idle_;
  unsigned open_ = 0;  // idle or in use
};

}  // namespace slipway::store
