// What torch.distributed's env:// reads. Every process sees all GPUs of its node and takes the one of its
// LOCAL_RANK, as scripts written for torchrun do: a narrower view would make that number wrong.
//
// torchrun starts the processes of a node by itself: it is started once, with its own settings in variables
// (PET_...), so that `torchrun train.py` needs none on its command line. torch.distributed.launch, which came
// before it, reads no variables: its settings are put on its command line, before those that are there.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launch/launcher.h"

namespace slipway::launch {
namespace {

constexpr std::string_view kLaunchModule = "torch.distributed.launch";
// As options of that module, and as variables of torchrun.
constexpr std::pair<const char*, const char*> kSettings[] = {{"nnodes", "PET_NNODES"},
                                                             {"nproc_per_node", "PET_NPROC_PER_NODE"},
                                                             {"node_rank", "PET_NODE_RANK"},
                                                             {"master_addr", "PET_MASTER_ADDR"},
                                                             {"master_port", "PET_MASTER_PORT"}};

// What stands after the first "-m"; the end of the command when nothing does.
std::vector<std::string>::const_iterator module_of(const std::vector<std::string>& command) {
  const auto flag = std::ranges::find(command, "-m");
  return flag == command.end() ? flag : flag + 1;
}

bool is_torchrun(const std::vector<std::string>& command) {
  if (std::filesystem::path(command.front()).filename() == "torchrun") return true;
  const auto module = module_of(command);
  return module != command.end() && (*module == "torch.distributed.run" || *module == kLaunchModule);
}

// The last of two settings counts, so that those of the command stand.
std::vector<std::string> with_settings(const std::vector<std::string>& command,
                                       const std::map<std::string, std::string>& variables) {
  const auto module = module_of(command);
  if (module == command.end() || *module != kLaunchModule) return command;
  std::vector<std::string> words(command.begin(), module + 1);
  for (const auto& [option, variable] : kSettings)
    words.push_back(fmt::format("--{}={}", option, variables.at(variable)));
  words.insert(words.end(), module + 1, command.end());
  return words;
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
  const std::vector<std::string> command =
      torchrun ? with_settings(input.command, launch.variables) : input.command;
  const std::vector<int> ranks = ranks_on_node(job, order.key.rank);
  for (size_t local = 0; local < (torchrun ? 1 : ranks.size()); ++local) {
    ProcessSpec process{.rank = ranks[local], .argv = command, .log = log_of(job, ranks[local])};
    process.environment = rank_variables(job, ranks[local], static_cast<int>(local));
    process.environment["RANK"] = std::to_string(ranks[local]);
    process.environment["LOCAL_RANK"] = std::to_string(local);
    launch.processes.push_back(std::move(process));
  }
  return launch;
}

}  // namespace slipway::launch
