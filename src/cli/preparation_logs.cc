#include "cli/preparation_logs.h"

#include <thread>

#include "cli/answer.h"
#include "client/requests.h"

namespace slipway::cli {

bool is_being_prepared(const json::object& run) {
  const std::string state = text_at(run, "state");
  return state == "NotStarted" || state == "Queued" || state == "Preparing";
}

PreparationFollower::PreparationFollower(const client::Connection& connection,
                                         const client::FollowOptions& options, const json::object& run,
                                         const std::string& path, int64_t attempt, int rank) {
  const json::object& job = object_at(run, "job");
  const auto add = [&](std::string_view name) {
    logs_.push_back({.target = path + "/logs/stream" +
                               client::to_text({{"name", std::string(name)},
                                                {"attempt", std::to_string(attempt)},
                                                {"rank", std::to_string(rank)}}),
                     .follower = std::make_unique<client::Follower>(connection, options),
                     .status = {}});
  };
  // A job that runs with what the machine has and takes no data is not prepared in any way worth a request.
  if (text_at(job, "environment") != "system") add("system_logs/environment.txt");
  if (!object_at(job, "inputs").empty()) add("system_logs/data.txt");
}

Status PreparationFollower::follow(const std::function<void(std::string_view bytes)>& write) {
  const auto follow_one = [&write](Log& log) {
    log.status = log.follower->follow_log(log.target, 0, [&write](const client::LogPiece& piece) {
      write(piece.bytes);
      return true;
    });
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < logs_.size(); ++i) others.emplace_back(follow_one, std::ref(logs_[i]));
  if (!logs_.empty()) follow_one(logs_.front());
  for (std::thread& other : others) other.join();
  for (const Log& log : logs_) SLIPWAY_TRY(log.status);
  return {};
}

void PreparationFollower::stop() {
  for (const Log& log : logs_) log.follower->stop();
}

}  // namespace slipway::cli
