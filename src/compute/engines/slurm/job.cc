#include "compute/engines/slurm/job.h"

#include <fmt/format.h>

#include <cmath>

namespace slipway::compute {
namespace {

// Everything in it that differs comes by variables, so that nothing is ever quoted for a shell.
constexpr std::string_view kScript = R"sh(#!/bin/sh
if [ "$SLURM_JOB_NUM_NODES" = 1 ]; then exec "$SLIPWAY_AGENT_PROGRAM" agent --allocation; fi
exec srun --mpi=none --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 \
  --cpu-bind=none --kill-on-bad-exit=0 "$SLIPWAY_AGENT_PROGRAM" agent --allocation
)sh";

// The run's own limit is kept by its supervisor, to the second. Slurm's comes after it: preparing and keeping
// outputs take time too.
constexpr Duration kTimeAround = std::chrono::minutes(15);

}  // namespace

std::string job_comment(const AllocationRequest& request) {
  return fmt::format("{}{} attempt={} request={}", kCommentStart, request.key.run, request.key.attempt,
                     request.id);
}

std::string request_in_comment(std::string_view comment) {
  constexpr std::string_view kName = " request=";
  if (!comment.starts_with(kCommentStart)) return "";
  const size_t at = comment.rfind(kName);
  return at == std::string_view::npos ? "" : std::string(comment.substr(at + kName.size()));
}

SlurmJobOrder job_order(const AllocationRequest& request, const ClusterSpec& spec) {
  constexpr uint64_t kMebibyte = 1 << 20;
  SlurmJobOrder order;
  order.name = fmt::format("{}.{}", request.key.run, request.key.attempt);
  order.comment = job_comment(request);
  const bool low = request.low_priority || spec.priority == Priority::kLow;
  order.partition =
      low && !spec.slurm.low_partition.empty() ? spec.slurm.low_partition : spec.slurm.partition;
  order.account = spec.slurm.account;
  order.nodes = request.nodes;
  order.cpus = static_cast<int>(std::ceil(request.asked.cpus - 1e-9));
  order.memory_mb = (request.asked.memory_bytes + kMebibyte - 1) / kMebibyte;
  order.gpus = request.asked.gpus;
  order.exclusive = request.asked == Resources{};
  if (request.time_limit > Duration::zero())
    order.minutes = std::chrono::ceil<std::chrono::minutes>(request.time_limit + kTimeAround).count();
  order.script = kScript;
  return order;
}

void add_agent(SlurmJobOrder& order, const AgentStart& start, const std::string& request,
               const std::vector<Secret>& tokens) {
  order.variables["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  order.variables["LANG"] = "C.UTF-8";
  order.variables["SLIPWAY_AGENT_PROGRAM"] = start.program;
  order.variables["SLIPWAY_AGENT_URL"] = start.server_url;
  order.variables["SLIPWAY_AGENT_REQUEST"] = request;
  if (!start.scratch.empty()) order.variables["SLIPWAY_AGENT_SCRATCH"] = start.scratch;
  if (!start.shared.empty()) order.variables["SLIPWAY_AGENT_SHARED"] = start.shared;
  if (!start.ca_certificate.empty()) order.variables["SLIPWAY_AGENT_CA"] = start.ca_certificate;
  std::string all;  // by rank
  for (const Secret& token : tokens) {
    if (!all.empty()) all += ',';
    all += token.reveal();
  }
  order.secrets["SLIPWAY_AGENT_TOKENS"] = Secret(std::move(all));
}

}  // namespace slipway::compute
