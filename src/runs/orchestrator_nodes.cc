// The half of the orchestrator that deals with nodes: how many there are, and whether they are heard from.
#include <fmt/format.h>

#include "access/token.h"
#include "base/log.h"
#include "compute/cluster_store.h"
#include "runs/orchestrator.h"
#include "runs/run_table.h"

namespace slipway::runs {

using compute::ClusterKey;

std::optional<Monotonic> Orchestrator::autoscale(const ClusterKey& key) {
  compute::ScalerInput input;
  {
    const auto views = nodes_.scheduler_view(key);
    const std::lock_guard lock(mutex_);
    const auto found = clusters_.find(key);
    if (found == clusters_.end()) return std::nullopt;
    const Cluster& cluster = found->second;
    input.nodes_wanted = compute::nodes_wanted(cluster.queue, views, view_of(cluster));
    input.runs_wait = compute::runs_wait(cluster.queue, view_of(cluster));
    input.nodes = nodes_.scaler_view(key, cluster.size.capacity);
    input.limits.min_nodes = cluster.spec.min_nodes;
    input.limits.max_nodes = cluster.spec.max_nodes;
    input.limits.idle = cluster.spec.idle;
    input.backoff = cluster.backoff;
    input.now = clock_.monotonic();
  }
  remove_idle_joined(key);
  const compute::ScalerDecision decision = compute::scale(input);
  if (decision.start > 0) start_nodes(key, decision.start);
  for (const NodeId& node : decision.drain) drain_node(node);
  for (const NodeId& node : decision.give_up)
    start_failed(key, fmt::format("node {} did not come up in time", node));
  for (const auto* list : {&decision.stop, &decision.give_up}) {
    for (const NodeId& node : *list) {
      log_info("node.stop", {{"node", node}});
      if (const Status stopped = engine_->stop_node(node); !stopped)
        log_error("node.stop_failed", {{"node", node}, {"error", stopped.error()}});
    }
  }
  return decision.ask_again;
}

Result<Secret> Orchestrator::add_joined_node(const compute::NodeRecord& node) {
  if (!nodes_.add(node))
    return fail(ErrorCode::kConflict, fmt::format("there is a node '{}' already", node.id),
                "choose another with --name, or take that one away: slipway compute remove-node");
  Secret token;
  const Status stored = database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_TRY(compute::insert_node(writer, node));
    SLIPWAY_ASSIGN(auto made,
                   access::create_node_token(writer, node.id, node.cluster.workspace, clock_.now()));
    token = std::move(made.text);
    return {};
  });
  if (stored) return token;
  nodes_.remove(node.id);
  return fail(stored.error());
}

Status Orchestrator::let_node_go(const NodeId& node) {
  const auto info = nodes_.find(node);
  if (!info) return fail(ErrorCode::kNotFound, fmt::format("there is no node '{}'", node));
  if (!info->record.joined)
    return fail(ErrorCode::kConflict, fmt::format("node '{}' is started and stopped by Slipway itself", node),
                fmt::format("change the limits of its cluster: slipway compute update {} --max N",
                            info->record.cluster.name));
  drain_node(node);
  const std::lock_guard lock(mutex_);
  wake(info->record.cluster);
  return {};
}

// Those that were told to go, or whose cluster is going.
void Orchestrator::remove_idle_joined(const ClusterKey& key) {
  bool removing = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = clusters_.find(key);
    removing = found != clusters_.end() && found->second.removing;
  }
  for (const compute::NodeInfo& node : nodes_.list(key)) {
    if (!node.record.joined || !node.attempts.empty()) continue;
    if (removing || node.record.draining || node.state == compute::NodeState::kDraining)
      node_event({.kind = compute::NodeEventKind::kGone, .node = node.record.id, .reason = "", .deaths = 0});
  }
}

void Orchestrator::start_nodes(const ClusterKey& key, int count) {
  NodeCapacity capacity;
  {
    const std::lock_guard lock(mutex_);
    const auto found = clusters_.find(key);
    if (found == clusters_.end()) return;
    capacity = found->second.size.capacity;
  }
  for (int i = 0; i < count; ++i) {
    {
      // A node takes a while to start: a server that is told to stop does not begin with the rest of many.
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    compute::NodeRecord node;
    node.id = compute::new_node_id(key.name);
    node.cluster = key;
    node.capacity = capacity;
    node.gpu_indices = nodes_.least_used_gpus(machine_, capacity.gpus);
    node.created_at = clock_.now();
    // Remembered first: a server that dies here finds the row and lets the engine start or clear it.
    Status status =
        database_.write([&](store::Writer& writer) { return compute::insert_node(writer, node); });
    if (status) {
      nodes_.add(node);
      status = engine_->start_node({node.id, key, capacity, node.gpu_indices});
    }
    if (!status) return start_failed(key, status.error().message);
    log_info("node.start", {{"node", node.id}, {"cluster", key.name}});
  }
}

void Orchestrator::start_failed(const ClusterKey& key, const std::string& why) {
  log_warning("node.start_failed", {{"cluster", key.name}, {"why", why}});
  const std::lock_guard lock(mutex_);
  const auto found = clusters_.find(key);
  if (found == clusters_.end()) return;
  found->second.backoff.failed(clock_.monotonic());
  found->second.start_problem = why;
}

void Orchestrator::drain_node(const NodeId& node) {
  nodes_.set_draining(node);
  if (const Status status =
          database_.write([&](store::Writer& writer) { return compute::set_node_draining(writer, node); });
      !status)
    log_error("node.drain_failed", {{"node", node}, {"error", status.error()}});
  notifier_.notify(node_topic(node));
}

Status Orchestrator::node_registered(const NodeId& node, const NodeCapacity& capacity,
                                     const std::string& address, int pid,
                                     const std::vector<int>& gpu_indices) {
  SLIPWAY_TRY(nodes_.registered(node, capacity, address, pid, gpu_indices));
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) {
    return compute::set_node_registered(writer, node, capacity, address, pid, clock_.now());
  }));
  if (const auto info = nodes_.find(node)) {
    const std::lock_guard lock(mutex_);
    if (const auto found = clusters_.find(info->record.cluster); found != clusters_.end()) {
      found->second.backoff.succeeded();
      found->second.start_problem.clear();
    }
    if (const auto request = requests_.find(compute::request_of(node)); request != requests_.end())
      arrived_.insert(request->second);
    wake(info->record.cluster);
  }
  return node_heard_from(node);
}

Status Orchestrator::node_heard_from(const NodeId& node) {
  SLIPWAY_TRY(nodes_.heard_from(node));
  const auto info = nodes_.find(node);
  {
    const std::lock_guard lock(mutex_);
    // A node that had not been heard from for a while takes work again: those who wait for it are looked at.
    if (info)
      if (const auto found = clusters_.find(info->record.cluster);
          found != clusters_.end() && !found->second.queue.empty())
        wake(info->record.cluster);
    if (silent_.erase(node) == 0) return {};
  }
  return tell_runs_of(node, EventKind::kHeardAgain, fmt::format("node {} is heard from again", node));
}

void Orchestrator::node_event(const compute::NodeEvent& event) {
  const auto info = nodes_.find(event.node);
  if (event.kind == compute::NodeEventKind::kDied) {
    log_warning("node.died", {{"node", event.node}, {"reason", event.reason}, {"deaths", event.deaths}});
    if (info && info->state == compute::NodeState::kStarting)
      start_failed(info->record.cluster, event.reason);
    return;
  }
  log_info("node.gone", {{"node", event.node}});
  const Status status = database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_TRY(access::revoke_tokens_of_node(writer, event.node, clock_.now()));
    return compute::delete_node(writer, event.node);
  });
  if (!status) log_error("node.delete_failed", {{"node", event.node}, {"error", status.error()}});
  nodes_.remove(event.node);
  if (!info) return;
  forget_cluster_without_nodes(info->record.cluster);
  const std::lock_guard lock(mutex_);
  wake(info->record.cluster);
}

void Orchestrator::forget_cluster_without_nodes(const ClusterKey& key) {
  if (!nodes_.list(key).empty()) return;
  Cluster forgotten;  // outlives the lock: an allocator that ends may be telling something just now
  const std::lock_guard lock(mutex_);
  if (const auto found = clusters_.find(key); found != clusters_.end() && found->second.removing) {
    forgotten = std::move(found->second);
    clusters_.erase(found);
  }
}

void Orchestrator::watch_silence() {
  for (const NodeId& node : nodes_.silent_for(times_.silence)) {
    {
      const std::lock_guard lock(mutex_);
      if (!silent_.insert(node).second) continue;
    }
    log_warning("node.silent", {{"node", node}});
    const Status told =
        tell_runs_of(node, EventKind::kSilent,
                     fmt::format("node {} has been silent for {}", node, slipway::to_text(times_.silence)));
    if (!told) log_error("node.silence_not_told", {{"node", node}, {"error", told.error()}});
  }
  for (const NodeId& node : nodes_.silent_for(times_.grace)) {
    log_warning("node.lost", {{"node", node}});
    if (const Status told = tell_runs_of(node, EventKind::kNodeLost, fmt::format("node {} was lost", node));
        !told) {
      log_error("node.loss_not_told", {{"node", node}, {"error", told.error()}});
      continue;
    }
    nodes_.set_lost(node);
    if (const auto info = nodes_.find(node)) {
      const std::lock_guard lock(mutex_);
      wake(info->record.cluster);
    }
  }
}

Status Orchestrator::tell_runs_of(const NodeId& node, EventKind kind, const std::string& reason) {
  return database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const auto parts, open_parts_of_node(writer, node));
    for (const Part& part : parts) {
      SLIPWAY_ASSIGN(Run run, load_run(writer, part.key.run));
      if (run.attempt != part.key.attempt) continue;
      auto verdict = transitions_.apply(writer, run, {.kind = kind, .reason = reason, .outcome = {}});
      if (!verdict) return fail(std::move(verdict).error());
    }
    return {};
  });
}

Status Orchestrator::attempts_missing(const NodeId& node, const std::vector<AttemptKey>& held) {
  std::vector<Part> open;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(open, open_parts_of_node(reader, node));
    return {};
  }));
  std::set<AttemptKey> missing;
  for (const Part& part : open)
    if (part.state != PartState::kOrdered && std::find(held.begin(), held.end(), part.key) == held.end())
      missing.insert(part.key);
  std::set<AttemptKey> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(missing_once_[node], missing);
    if (missing.empty()) missing_once_.erase(node);
  }
  for (const AttemptKey& key : missing) {
    if (!before.contains(key)) continue;
    log_warning("attempt.missing", {{"node", node}, {"attempt", to_text(key)}});
    SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
      auto part = load_open_part(writer, node, key);
      if (!part) return {};  // over meanwhile
      SLIPWAY_ASSIGN(Run run, load_run(writer, key.run));
      if (run.attempt != key.attempt) return {};
      auto verdict = transitions_.apply(writer, run,
                                        {.kind = EventKind::kNodeLost,
                                         .reason = fmt::format("node {} no longer has the run", node),
                                         .outcome = {}});
      if (!verdict) return fail(std::move(verdict).error());
      return {};
    }));
  }
  return {};
}

}  // namespace slipway::runs
