// TF_CONFIG: who the tasks of the cluster are, and which of them this process is. TensorFlow takes the whole
// memory of every GPU it sees, so that each process is shown its share of the node's and no more.
#include <fmt/format.h>

#include "base/json.h"
#include "launch/launcher.h"

namespace slipway::launch {
namespace {

struct Task {
  std::string type;
  int index = 0;
};

// By rank: chief, workers, parameter servers.
std::vector<Task> tasks_of(const Job& job) {
  std::vector<Task> tasks;
  const int workers = process_count(job) - job.launcher.ps - (job.launcher.chief ? 1 : 0);
  if (job.launcher.chief) tasks.push_back({"chief", 0});
  for (int i = 0; i < workers; ++i) tasks.push_back({"worker", i});
  for (int i = 0; i < job.launcher.ps; ++i) tasks.push_back({"ps", i});
  return tasks;
}

// Where the process of a rank listens: the port its node holds for it.
Result<std::string> place_of(const LaunchInput& input, int rank) {
  const int nodes = input.order.job.nodes;
  const NodeOffer& offer = input.offers[static_cast<size_t>(rank % nodes)];
  const auto local = static_cast<size_t>(rank / nodes);
  if (local >= offer.ports.size())
    return fail(ErrorCode::kInvalidArgument, fmt::format("node {} holds too few ports", offer.rank));
  return fmt::format("{}:{}", offer.address, offer.ports[local]);
}

Result<json::object> cluster_of(const LaunchInput& input, const std::vector<Task>& tasks) {
  json::object cluster;
  for (size_t rank = 0; rank < tasks.size(); ++rank) {
    SLIPWAY_ASSIGN(std::string place, place_of(input, static_cast<int>(rank)));
    if (!cluster.contains(tasks[rank].type)) cluster[tasks[rank].type] = json::array();
    cluster[tasks[rank].type].as_array().emplace_back(std::move(place));
  }
  return cluster;
}

}  // namespace

Result<Launch> launch_tensorflow(const LaunchInput& input) {
  const AttemptOrder& order = input.order;
  const Job& job = order.job;
  Launch launch{.processes = {}, .end_rule = EndRule::kLeader};
  const std::vector<Task> tasks = tasks_of(job);
  json::object cluster;
  // A single process is a cluster of its own: TensorFlow wants no TF_CONFIG then.
  if (!input.offers.empty()) {
    SLIPWAY_ASSIGN(cluster, cluster_of(input, tasks));
  }
  const std::vector<int> ranks = ranks_on_node(job, order.key.rank);
  for (size_t local = 0; local < ranks.size(); ++local) {
    const int rank = ranks[local];
    ProcessSpec process{.rank = rank, .argv = input.command, .log = log_of(job, rank)};
    process.environment = rank_variables(job, rank, static_cast<int>(local));
    if (!job.variables.contains("CUDA_VISIBLE_DEVICES"))
      process.environment["CUDA_VISIBLE_DEVICES"] =
          gpus_for(order.gpu_indices, static_cast<int>(local), static_cast<int>(ranks.size()));
    const Task& task = tasks[static_cast<size_t>(rank)];
    if (!cluster.empty())
      process.environment["TF_CONFIG"] =
          json::serialize(json::object{{"cluster", cluster},
                                       {"task", {{"type", task.type}, {"index", task.index}}},
                                       {"environment", "cloud"}});
    launch.processes.push_back(std::move(process));
  }
  return launch;
}

}  // namespace slipway::launch
