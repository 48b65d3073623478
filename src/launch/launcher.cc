#include "launch/launcher.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway::launch {

Result<Launch> launch(const LaunchInput& input) {
  const Job& job = input.order.job;
  if (needs_rendezvous(job) && input.offers.size() != static_cast<size_t>(job.nodes))
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} of {} nodes have said where they are reached",
                                                         input.offers.size(), job.nodes));
  switch (job.launcher.kind) {
    case LauncherKind::kNone: return launch_none(input);
    case LauncherKind::kPyTorch: return launch_pytorch(input);
    case LauncherKind::kTensorFlow: return launch_tensorflow(input);
    case LauncherKind::kMpi: return launch_mpi(input);
  }
  return fail(ErrorCode::kInternal, "the job has a launcher of no kind");
}

bool needs_rendezvous(const Job& job) {
  // PyTorch wants a port for one process too.
  return process_count(job) > 1 || job.launcher.kind == LauncherKind::kPyTorch;
}

int ports_needed(const Job& job, int node_rank) {
  switch (job.launcher.kind) {
    case LauncherKind::kNone: return 0;
    case LauncherKind::kPyTorch: return node_rank == 0 ? 1 : 0;
    case LauncherKind::kTensorFlow: return static_cast<int>(ranks_on_node(job, node_rank).size());
    case LauncherKind::kMpi: return 1;  // for scripts on the first node, for mpirun on the others
  }
  return 0;
}

std::vector<int> ranks_on_node(const Job& job, int node_rank) {
  std::vector<int> ranks;
  const int count = process_count(job);
  const bool round = job.launcher.kind == LauncherKind::kTensorFlow;
  for (int rank = 0; rank < count; ++rank)
    if ((round ? rank % job.nodes : rank / job.processes) == node_rank) ranks.push_back(rank);
  return ranks;
}

std::string log_of(const Job& job, int rank) {
  return process_count(job) > 1 ? rank_log(rank) : first_log(job);
}

std::map<std::string, std::string> rank_variables(const Job& job, int rank, int local_rank) {
  return {{"SLIPWAY_RANK", std::to_string(rank)},
          {"SLIPWAY_LOCAL_RANK", std::to_string(local_rank)},
          {"SLIPWAY_PROCESS_COUNT", std::to_string(process_count(job))}};
}

std::string gpus_for(const std::vector<int>& indices, int local_rank, int processes) {
  const int count = static_cast<int>(indices.size());
  if (count == 0) return "";
  if (count < processes) return std::to_string(indices[static_cast<size_t>(local_rank % count)]);
  const auto begin = indices.begin() + local_rank * count / processes;
  const auto end = indices.begin() + (local_rank + 1) * count / processes;
  return fmt::format("{}", fmt::join(begin, end, ","));
}

}  // namespace slipway::launch
