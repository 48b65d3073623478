// A job of Slurm's: as it is asked for, and as it is seen.
//
// Jobs are told apart by their comment, never by their number alone: a controller that is killed soon after a
// submission forgets the job and gives its number to another one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/secret.h"
#include "compute/allocator.h"

namespace slipway::compute {

struct SlurmJobOrder {
  std::string name;     // "digits-x7k2mq9w.1"
  std::string comment;  // see job_comment
  std::string partition;
  std::string account;
  int nodes = 1;
  int cpus = 0;            // of each node; 0: what Slurm gives by default
  uint64_t memory_mb = 0;  // of each node; 0: the same
  int gpus = 0;            // of each node
  bool exclusive = false;  // whole nodes
  int64_t minutes = 0;     // 0: the partition's limit
  std::string script;
  std::map<std::string, std::string> variables;
  std::map<std::string, Secret> secrets;  // more variables
};

struct SlurmJob {
  int64_t id = 0;
  std::string state;   // "PENDING"
  std::string reason;  // "Resources"
  std::string description;
  std::string comment;
  std::string nodes;        // "node[1-2]"
  int64_t exit_status = 0;  // as wait(2) has it
  int64_t preempt_time = 0;
  int64_t restarts = 0;
};

// "slipway run=digits-x7k2mq9w attempt=1 request=cluster1-3f9a2k"
std::string job_comment(const AllocationRequest& request);
constexpr std::string_view kCommentStart = "slipway run=";
// The request that the comment names; empty for other comments.
std::string request_in_comment(std::string_view comment);

// What is asked of Slurm for a request.
SlurmJobOrder job_order(const AllocationRequest& request, const ClusterSpec& spec);

// What a node's agent is started with: where the server is, which node it is, and the token for that.
struct AgentStart {
  std::string program;
  std::string server_url;
  std::string scratch;
  std::string shared;
  std::string ca_certificate;  // PEM, for an https server with a certificate of its own
};
void add_agent(SlurmJobOrder& order, const AgentStart& start, const std::string& request,
               const std::vector<Secret>& tokens);

}  // namespace slipway::compute
