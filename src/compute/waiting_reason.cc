// Why a run waits, and why one can never be placed: the same arithmetic as the scheduler's, in words.
#include <fmt/format.h>

#include <algorithm>

#include "compute/scheduler.h"
#include "compute/slots.h"

namespace slipway::compute {

namespace {

std::string nodes_text(int count) {
  return fmt::format("{} node{}", count, count == 1 ? "" : "s");
}

std::string runs_before(size_t count) {
  if (count == 0) return "";
  return fmt::format("; {} run{} before this one", count, count == 1 ? "" : "s");
}

std::string why_never(const WaitingRun& run, const ClusterView& cluster) {
  if (run.nodes > cluster.max_nodes)
    return fmt::format("asks for {}; {} has at most {}", nodes_text(run.nodes), cluster.name,
                       cluster.max_nodes);
  return fmt::format("asks for {} on each node; {} has nodes with {}",
                     to_text(share_of(run.asked, cluster.node_size)), cluster.name,
                     to_text(cluster.node_size));
}

// What other clusters of the machine have to do with it; empty: nothing.
std::string crowded_out(const WaitingRun& run, const ClusterView& cluster) {
  Amount total;
  for (int i = 0; i < run.nodes; ++i) total += share_of(run.asked, cluster.node_size);
  if (MachineRoom(cluster.use, cluster.priority).take(total, has_risen(run, cluster))) return "";
  if (cluster.priority == Priority::kLow)
    return fmt::format(
        "{} has low priority, and runs of dedicated clusters leave less than {} of this machine",
        cluster.name, to_text(total));
  return fmt::format(
      "runs of low priority have what this run needs of this machine ({}), and cannot give way yet",
      to_text(total));
}

// What stands in the way of a run that could be placed on this cluster, the runs before it apart.
std::string obstacle(const WaitingRun& run, size_t before, std::span<const NodeView> nodes,
                     const ClusterView& cluster) {
  std::vector<Slot> slots = slots_of(nodes);
  const int fitting = static_cast<int>(find_room(slots, run).size());
  const int present =
      static_cast<int>(std::ranges::count_if(nodes, [](const NodeView& node) { return !node.starting; }));
  const int starting = static_cast<int>(nodes.size()) - present;
  const int missing = run.nodes - fitting;
  // Nodes to come: those on their way, and those the autoscaler may still start.
  const int to_come = std::min(missing, std::max(starting, cluster.max_nodes - present));
  if (missing > 0 && to_come > 0) {
    if (!cluster.start_problem.empty())
      return fmt::format("no node of {} comes up: {}", cluster.name, cluster.start_problem);
    return fmt::format("waiting for {} of {} to start", nodes_text(to_come), cluster.name);
  }
  if (missing <= 0) {
    if (std::string others = crowded_out(run, cluster); !others.empty()) return others;
    return before == 0 ? std::string("about to be placed")
                       : fmt::format("{} keeps what is free for a run that came first", cluster.name);
  }
  const auto busy =
      std::ranges::count_if(nodes, [](const NodeView& node) { return node.free != node.total; });
  const auto silent = std::ranges::count_if(nodes, [](const NodeView& node) {
    return !node.accepting && !node.starting && node.free == node.total;
  });
  if (busy == 0 && silent > 0)
    return fmt::format("{} of {} {} not ready for work", nodes_text(static_cast<int>(silent)), cluster.name,
                       silent == 1 ? "is" : "are");
  std::string text = fmt::format("{} has {} of {} nodes busy", cluster.name, busy, cluster.max_nodes);
  if (!asks_for_whole_node(run.asked))
    text += fmt::format(", and not {} free on {}", to_text(share_of(run.asked, cluster.node_size)),
                        run.nodes == 1 ? "any" : fmt::format("{} of them", run.nodes));
  else if (run.nodes > 1)
    text += fmt::format("; this run needs {} at once", run.nodes);
  return text;
}

// The first kind of resource of which more is asked than there is.
struct Excess {
  std::string_view option;
  std::string there;
  std::string asked;       // as in "this run asks for 8"
  std::string suggestion;  // as in "--cpus 8"
  bool beyond_machine;
  std::string machine;
};

std::optional<Excess> excess(const Amount& asked, const ClusterView& cluster) {
  const Amount& size = cluster.node_size;
  const Amount& machine = cluster.machine;
  if (asked.gpus > size.gpus)
    return Excess{"--gpus",
                  size.gpus == 0 ? "no GPUs" : gpus_text(size.gpus),
                  fmt::format("{}", asked.gpus),
                  fmt::format("--gpus {}", asked.gpus),
                  asked.gpus > machine.gpus,
                  gpus_text(machine.gpus)};
  if (asked.milli_cpus > size.milli_cpus) {
    const double cpus = static_cast<double>(asked.milli_cpus) / 1000;
    return Excess{"--cpus",
                  cpus_text(size.milli_cpus),
                  fmt::format("{}", cpus),
                  fmt::format("--cpus {}", cpus),
                  asked.milli_cpus > machine.milli_cpus,
                  cpus_text(machine.milli_cpus)};
  }
  if (asked.memory_bytes > size.memory_bytes) {
    const double gibibytes = static_cast<double>(asked.memory_bytes) / (1 << 30);
    return Excess{"--memory",
                  fmt::format("{} of memory", memory_text(size.memory_bytes)),
                  memory_text(asked.memory_bytes),
                  fmt::format("--memory {:.4g}", gibibytes),
                  asked.memory_bytes > machine.memory_bytes,
                  memory_text(machine.memory_bytes)};
  }
  return std::nullopt;
}

}  // namespace

std::string why(const WaitingRuns& queue, int64_t seq, std::span<const NodeView> nodes,
                const ClusterView& cluster) {
  const std::optional<size_t> before = queue.position(seq, cluster.moment);
  if (!before) return "";
  const WaitingRun& run = *queue.find(seq);
  if (!can_ever_fit(run, cluster)) return why_never(run, cluster);
  return obstacle(run, *before, nodes, cluster) + runs_before(*before);
}

Status check_fits(const Job& job, const ClusterView& cluster) {
  if (cluster.max_nodes == 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cluster '{}' has no node, and starts none by itself", cluster.name),
                fmt::format("let a machine join it: slipway join {}", cluster.name));
  if (job.nodes > cluster.max_nodes)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cluster '{}' has at most {}; this run asks for {}", cluster.name,
                            nodes_text(cluster.max_nodes), job.nodes),
                fmt::format("lower --nodes, or raise the limit: slipway compute update {} --max {}",
                            cluster.name, job.nodes));
  // Elsewhere, what is not named is the engine's to give.
  const auto too_much = excess(
      cluster.elsewhere ? to_amount(job.resources) : share_of(job.resources, cluster.node_size), cluster);
  if (!too_much) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("cluster '{}' has nodes with {}; this run asks for {} on each", cluster.name,
                  too_much->there, too_much->asked),
      too_much->beyond_machine
          ? fmt::format("lower {}: {} has {}", too_much->option,
                        cluster.elsewhere ? "the largest of its nodes" : "this machine", too_much->machine)
          : fmt::format("lower {}, or create a larger cluster: slipway compute create big {}",
                        too_much->option, too_much->suggestion));
}

}  // namespace slipway::compute
