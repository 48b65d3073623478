// What torch.distributed's env:// reads. Every process sees all GPUs of its node and takes the one of its
// LOCAL_RANK, as scripts written for torchrun do: a narrower view would make that number wrong.
//
// torchrun starts the processes of a node by itself: it is started once, with its own settings in variables
// (PET_...), so that `torchrun train.py` needs none on its command line.
#include <fmt/format.h>

#include <algorithm>

#include "launch/launcher.h"

namespace slipway::launch {
namespace {

bool is_torchrun(const std::vector<std::string>& command) {
  if (std::filesystem::path(command.front()).filename() == "torchrun") return true;
  const auto module = std::ranges::find(command, "-m");
  if (module == command.end() || module + 1 == command.end()) return false;
  return *(module + 1) == "torch.distributed.run" || *(module + 1) == "torch.distributed.launch";
}

}  // namespace

Result<Launch> launch_pytorch(const LaunchInput& input) {
  const AttemptOrder& order = input.order;
  const Job& job = order.job;
  if (input.offers.front().ports.empty())
    return fail(ErrorCode::kInvalidArgument, "the first node holds no port for the others to meet at");
  Launch launch;
  launch.variables = {{"MASTER_ADDR", input.offers.front().address},
                      {"MASTER_PORT", std::to_string(input.offers.front().ports.front())},
                      {"WORLD_SIZE", std::to_string(process_count(job))},
                      {"LOCAL_WORLD_SIZE", std::to_string(job.processes)},
                      {"NODE_RANK", std::to_string(order.key.rank)},
                      {"GROUP_RANK", std::to_string(order.key.rank)}};
  const bool torchrun = is_torchrun(input.command);
  if (torchrun) {
    launch.variables.insert({{"PET_NNODES", std::to_string(job.nodes)},
                             {"PET_NPROC_PER_NODE", std::to_string(job.processes)},
                             {"PET_NODE_RANK", std::to_string(order.key.rank)},
                             {"PET_MASTER_ADDR", launch.variables["MASTER_ADDR"]},
                             {"PET_MASTER_PORT", launch.variables["MASTER_PORT"]}});
  }
  const std::vector<int> ranks = ranks_on_node(job, order.key.rank);
  for (size_t local = 0; local < (torchrun ? 1 : ranks.size()); ++local) {
    ProcessSpec process{.rank = ranks[local], .argv = input.command, .log = log_of(job, ranks[local])};
    process.environment = rank_variables(job, ranks[local], static_cast<int>(local));
    process.environment["RANK"] = std::to_string(ranks[local]);
    process.environment["LOCAL_RANK"] = std::to_string(local);
    launch.processes.push_back(std::move(process));
  }
  return launch;
}

}  // namespace slipway::launch
