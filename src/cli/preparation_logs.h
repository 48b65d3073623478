// The logs of an attempt's preparation, followed until its job starts: what is built and placed before there
// is anything the job itself could say.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "client/streams.h"

namespace slipway::cli {

// Whether the run is in a phase in which such logs may still grow.
bool is_being_prepared(const json::object& run);

class PreparationFollower {
 public:
  // `path`: of the run. Follows only the logs that this run's job can have. `write` is called from one thread
  // at a time for each log, and with whole pieces.
  PreparationFollower(const client::Connection& connection, const client::FollowOptions& options,
                      const json::object& run, const std::string& path, int64_t attempt, int rank);

  // Until the attempt's job has started, the attempt or the run has ended, or `stop` is called.
  Status follow(const std::function<void(std::string_view bytes)>& write);
  // From any thread.
  void stop();

 private:
  struct Log {
    std::string target;
    std::unique_ptr<client::Follower> follower;
    Status status;
  };
  std::vector<Log> logs_;
};

}  // namespace slipway::cli
