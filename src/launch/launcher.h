// The launchers: from the order of one node, and what the nodes have offered each other, to the processes
// there. Pure. One file each; the table is in launcher.cc.
//
// Ranks are numbered over the whole run: node by node for all but TensorFlow, whose tasks (chief, workers,
// parameter servers, in this order) go round the nodes, so that workers do not share one while others have
// none.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "launch/spec.h"

namespace slipway::launch {

// What a launcher knows.
struct LaunchInput {
  const AttemptOrder& order;
  const std::vector<NodeOffer>& offers;  // by rank; empty for a run of one process
  std::vector<std::string> command;      // with the paths of its data in it
  std::filesystem::path folder;          // the attempt's
  std::string program = "";              // Slipway's own
};

// What it decides.
struct Launch {
  std::vector<ProcessSpec> processes;
  std::vector<RankPipe> pipes = {};
  EndRule end_rule = EndRule::kAll;
  std::map<std::string, std::string> files = {};      // absolute path, content
  std::map<std::string, std::string> variables = {};  // of all processes here; the job's own win over them
};

// kInvalidArgument when the offers do not hold what the launcher asked for.
Result<Launch> launch(const LaunchInput& input);

// How many ports a node is to hold for its processes. Every node of a run that has several makes an offer, be
// it without a port.
int ports_needed(const Job& job, int node_rank);
bool needs_rendezvous(const Job& job);

// For the launchers.
Result<Launch> launch_none(const LaunchInput& input);
Result<Launch> launch_pytorch(const LaunchInput& input);
Result<Launch> launch_tensorflow(const LaunchInput& input);
Result<Launch> launch_mpi(const LaunchInput& input);

// The ranks on one node, ascending.
std::vector<int> ranks_on_node(const Job& job, int node_rank);
// The log of a rank: std_log.txt in a run of one.
std::string log_of(const Job& job, int rank);
// SLIPWAY_RANK, SLIPWAY_LOCAL_RANK and SLIPWAY_PROCESS_COUNT.
std::map<std::string, std::string> rank_variables(const Job& job, int rank, int local_rank);

// The share of a node's GPUs for one of its processes, as CUDA_VISIBLE_DEVICES; with more processes than GPUs
// they take turns.
std::string gpus_for(const std::vector<int>& indices, int local_rank, int processes);

}  // namespace slipway::launch
