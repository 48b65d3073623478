// How a job becomes processes: which launcher, how many processes on each node, and the roles of
// TensorFlow's.
//
// Written as people write it, "mpi" or "tensorflow:workers=2,ps=1,chief", in job files, on the command line,
// in requests and in records alike.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway {

struct Job;

enum class LauncherKind {
  kNone,        // the command once on each node
  kMpi,         // one mpirun over all nodes
  kPyTorch,     // MASTER_ADDR and the ranks in variables
  kTensorFlow,  // TF_CONFIG
};
std::string_view to_text(LauncherKind kind);

struct Launcher {
  LauncherKind kind = LauncherKind::kNone;
  // Of TensorFlow alone. No workers: as many as places are left by the others.
  int workers = 0;
  int ps = 0;  // parameter servers
  bool chief = false;
  bool operator==(const Launcher&) const = default;
};

std::string to_text(const Launcher& launcher);
// kInvalidArgument says what is wrong, and what the launchers are.
Result<Launcher> parse_launcher(std::string_view text);

// That the launcher, the nodes and the processes of a job fit each other. After it, how the ranks lie
// (launch/ranks.h) is settled.
Status check_launcher(const Job& job);

// How many processes a job that passed check_launcher has in all.
int process_count(const Job& job);

// The log that people see first: "std_log.txt", or that of rank 0 where a job has several processes.
std::string first_log(const Job& job);
// The log of one process of several.
std::string rank_log(int rank);
// The rank of the first process on a node: whose log stands for the node's.
int first_rank_of_node(const Job& job, int node_rank);

}  // namespace slipway
