#include "compute/node_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace slipway::compute {

struct NodeRegistry::Entry {
  NodeRecord record;
  Amount total;
  Amount free;  // total less the grants of all attempts
  std::map<AttemptKey, Grant> attempts;
  bool lost = false;
  bool heard = false;    // since this server's start
  Monotonic last_heard;  // or the entry's beginning
  Monotonic since;       // of its start, or of its last work
  std::optional<Timestamp> last_seen_at;

  NodeState state() const {
    if (lost) return NodeState::kLost;
    if (record.draining) return NodeState::kDraining;
    if (!record.registered) return NodeState::kStarting;
    return attempts.empty() ? NodeState::kIdle : NodeState::kBusy;
  }

  void hold(const AttemptKey& key, const Grant& grant) {
    attempts.emplace(key, grant);
    free -= to_amount(grant.granted);
  }

  void let_go(const AttemptKey& key) {
    const auto held = attempts.find(key);
    free += to_amount(held->second.granted);
    attempts.erase(held);
  }

  std::vector<int> free_gpus() const {
    if (record.gpu_indices.empty()) return {};
    std::set<int> taken;
    for (const auto& [key, grant] : attempts)
      taken.insert(grant.gpu_indices.begin(), grant.gpu_indices.end());
    std::vector<int> left;
    std::ranges::copy_if(record.gpu_indices, std::back_inserter(left),
                         [&](int index) { return !taken.contains(index); });
    return left;
  }

  // After the record's capacity was set. An engine that does not name GPUs gives a node all that its machine
  // has.
  void settle_capacity() {
    if (record.gpu_indices.empty() && record.capacity.gpus > 0) {
      record.gpu_indices.resize(static_cast<size_t>(record.capacity.gpus));
      std::iota(record.gpu_indices.begin(), record.gpu_indices.end(), 0);
    }
    std::ranges::sort(record.gpu_indices);
    record.capacity.gpus = static_cast<int>(record.gpu_indices.size());
    free -= total;
    total = to_amount(record.capacity);
    free += total;
  }

  void note_word(const Clock& clock) {
    heard = true;
    lost = false;
    last_heard = clock.monotonic();
    last_seen_at = clock.now();
  }
};

namespace {

std::unexpected<Error> no_node(const NodeId& node) {
  return fail(ErrorCode::kNotFound, fmt::format("there is no node '{}'", node),
              "it was stopped or given up; slipway compute nodes shows what there is");
}

void count(NodeCounts& counts, NodeState state) {
  switch (state) {
    case NodeState::kStarting: ++counts.starting; break;
    case NodeState::kIdle: ++counts.idle; break;
    case NodeState::kBusy: ++counts.busy; break;
    case NodeState::kDraining: ++counts.draining; break;
    case NodeState::kLost: ++counts.lost; break;
  }
}

}  // namespace

std::string_view node_state_name(NodeState state) {
  switch (state) {
    case NodeState::kStarting: return "starting";
    case NodeState::kIdle: return "idle";
    case NodeState::kBusy: return "busy";
    case NodeState::kDraining: return "draining";
    case NodeState::kLost: return "lost";
  }
  return "lost";
}

json::object to_json(const NodeInfo& node) {
  json::array runs;
  for (const AttemptKey& key : node.attempts)
    if (runs.empty() || runs.back().as_string() != key.run.str()) runs.emplace_back(key.run.str());
  const Resources free = to_resources(node.free);
  return {{"id", node.record.id.str()},
          {"cluster", node.record.cluster.name.str()},
          {"state", node_state_name(node.state)},
          {"cpus", node.record.capacity.cpus},
          {"memory_bytes", node.record.capacity.memory_bytes},
          {"gpus", node.record.capacity.gpus},
          {"free",
           {{"cpus", std::max(free.cpus, 0.0)},
            {"memory_bytes", free.memory_bytes},
            {"gpus", std::max(free.gpus, 0)}}},
          {"runs", std::move(runs)},
          {"last_seen_at", node.last_seen_at ? json::value(to_iso8601(*node.last_seen_at)) : json::value()},
          {"created_at", to_iso8601(node.record.created_at)},
          {"joined", node.record.joined},
          {"address", node.record.address},
          {"pid", node.record.pid}};
}

NodeRegistry::NodeRegistry(const Clock& clock, Duration fresh) : clock_(clock), fresh_(fresh) {}

NodeRegistry::~NodeRegistry() = default;

bool NodeRegistry::add(NodeRecord node) {
  const std::lock_guard lock(mutex_);
  auto entry = std::make_unique<Entry>();
  entry->record = std::move(node);
  entry->last_heard = entry->since = clock_.monotonic();
  entry->settle_capacity();
  const NodeId id = entry->record.id;
  return nodes_.try_emplace(id, std::move(entry)).second;
}

void NodeRegistry::remove(const NodeId& node) {
  const std::lock_guard lock(mutex_);
  nodes_.erase(node);
  std::erase_if(holders_, [&](const auto& held) { return held.second == node; });
}

Status NodeRegistry::registered(const NodeId& node, const NodeCapacity& capacity, const std::string& address,
                                int pid, const std::vector<int>& gpu_indices) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return no_node(node);
  Entry& entry = *found->second;
  if (!entry.record.registered) entry.since = clock_.monotonic();
  entry.record.registered = true;
  entry.record.capacity = capacity;
  entry.record.address = address;
  entry.record.pid = pid;
  if (!gpu_indices.empty()) entry.record.gpu_indices = gpu_indices;
  if (static_cast<size_t>(capacity.gpus) != entry.record.gpu_indices.size()) entry.record.gpu_indices.clear();
  entry.settle_capacity();
  entry.note_word(clock_);
  return {};
}

Status NodeRegistry::heard_from(const NodeId& node) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return no_node(node);
  found->second->note_word(clock_);
  return {};
}

Status NodeRegistry::reserve(const AttemptKey& key, const Grant& grant) {
  const std::lock_guard lock(mutex_);
  if (holders_.contains(key)) return {};
  const auto found = nodes_.find(grant.node);
  if (found == nodes_.end()) return no_node(grant.node);
  found->second->hold(key, grant);
  holders_.emplace(key, grant.node);
  return {};
}

std::optional<NodeId> NodeRegistry::release(const AttemptKey& key) {
  const std::lock_guard lock(mutex_);
  const auto held = holders_.find(key);
  if (held == holders_.end()) return std::nullopt;
  NodeId node = std::move(held->second);
  holders_.erase(held);
  Entry& entry = *nodes_.at(node);
  entry.let_go(key);
  entry.since = clock_.monotonic();
  return node;
}

void NodeRegistry::set_draining(const NodeId& node) {
  const std::lock_guard lock(mutex_);
  if (const auto found = nodes_.find(node); found != nodes_.end()) found->second->record.draining = true;
}

void NodeRegistry::set_lost(const NodeId& node) {
  const std::lock_guard lock(mutex_);
  if (const auto found = nodes_.find(node); found != nodes_.end()) found->second->lost = true;
}

std::vector<NodeId> NodeRegistry::silent_for(Duration time) const {
  const std::lock_guard lock(mutex_);
  const Monotonic now = clock_.monotonic();
  std::vector<NodeId> silent;
  for (const auto& [id, entry] : nodes_)
    if (entry->record.registered && !entry->lost && now - entry->last_heard >= time) silent.push_back(id);
  return silent;
}

NodeInfo NodeRegistry::info_of(const Entry& entry) const {
  NodeInfo info{.record = entry.record,
                .state = entry.state(),
                .free = entry.free,
                .attempts = {},
                .heard_since_start = entry.heard,
                .last_seen_at = entry.last_seen_at};
  info.attempts.reserve(entry.attempts.size());
  for (const auto& [key, grant] : entry.attempts) info.attempts.push_back(key);
  return info;
}

std::optional<NodeInfo> NodeRegistry::find(const NodeId& node) const {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? std::nullopt : std::optional(info_of(*found->second));
}

std::vector<NodeInfo> NodeRegistry::list(const ClusterKey& cluster) const {
  const std::lock_guard lock(mutex_);
  std::vector<NodeInfo> infos;
  for (const auto& [id, entry] : nodes_)
    if (entry->record.cluster == cluster) infos.push_back(info_of(*entry));
  return infos;
}

std::vector<NodeInfo> NodeRegistry::list_all() const {
  const std::lock_guard lock(mutex_);
  std::vector<NodeInfo> infos;
  infos.reserve(nodes_.size());
  for (const auto& [id, entry] : nodes_) infos.push_back(info_of(*entry));
  return infos;
}

NodeCounts NodeRegistry::counts(const ClusterKey& cluster) const {
  const std::lock_guard lock(mutex_);
  NodeCounts counts;
  for (const auto& [id, entry] : nodes_)
    if (entry->record.cluster == cluster) count(counts, entry->state());
  return counts;
}

NodeCounts NodeRegistry::counts_all() const {
  const std::lock_guard lock(mutex_);
  NodeCounts counts;
  for (const auto& [id, entry] : nodes_) count(counts, entry->state());
  return counts;
}

size_t NodeRegistry::size() const {
  const std::lock_guard lock(mutex_);
  return nodes_.size();
}

NodeView NodeRegistry::view_of(const Entry& entry, Monotonic now) const {
  const NodeState state = entry.state();
  return {.id = entry.record.id,
          .total = entry.total,
          .free = entry.free,
          .free_gpus = entry.free_gpus(),
          .accepting = (state == NodeState::kIdle || state == NodeState::kBusy) && entry.heard &&
                       now - entry.last_heard <= fresh_,
          .starting = state == NodeState::kStarting};
}

std::vector<NodeView> NodeRegistry::scheduler_view(const ClusterKey& cluster) const {
  const std::lock_guard lock(mutex_);
  const Monotonic now = clock_.monotonic();
  std::vector<NodeView> views;
  for (const auto& [id, entry] : nodes_)
    if (entry->record.cluster == cluster) views.push_back(view_of(*entry, now));
  return views;
}

std::vector<Amount> NodeRegistry::joined(const ClusterKey& cluster) const {
  const std::lock_guard lock(mutex_);
  std::vector<Amount> amounts;
  for (const auto& [id, entry] : nodes_)
    if (entry->record.cluster == cluster && entry->record.joined) amounts.push_back(entry->total);
  return amounts;
}

std::vector<ScalerNode> NodeRegistry::scaler_view(const ClusterKey& cluster, const NodeCapacity& size) const {
  const std::lock_guard lock(mutex_);
  const Amount right = to_amount(size);
  std::vector<ScalerNode> nodes;
  for (const auto& [id, entry] : nodes_) {
    if (entry->record.cluster != cluster || entry->record.joined) continue;
    nodes.push_back({.id = id,
                     .state = entry->state(),
                     .since = entry->since,
                     .holds_attempts = !entry->attempts.empty(),
                     .outdated = entry->total != right});
  }
  return nodes;
}

std::vector<int> NodeRegistry::least_used_gpus(const Machine& machine, int count) const {
  const std::lock_guard lock(mutex_);
  std::map<int, int> users;
  for (const Gpu& gpu : machine.gpus) users[gpu.index] = 0;
  for (const auto& [id, entry] : nodes_)
    for (const int index : entry->record.joined ? std::vector<int>() : entry->record.gpu_indices)
      if (const auto found = users.find(index); found != users.end()) ++found->second;
  std::vector<std::pair<int, int>> order;  // users, index
  order.reserve(users.size());
  for (const auto& [index, number] : users) order.emplace_back(number, index);
  std::ranges::sort(order);
  order.resize(std::min(order.size(), static_cast<size_t>(std::max(count, 0))));
  std::vector<int> chosen;
  chosen.reserve(order.size());
  for (const auto& [number, index] : order) chosen.push_back(index);
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace slipway::compute
