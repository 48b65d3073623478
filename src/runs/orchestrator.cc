#include "runs/orchestrator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "compute/awaited_room.h"
#include "compute/cluster_store.h"
#include "runs/run_table.h"

namespace slipway::runs {

using compute::ClusterKey;

namespace {

compute::WaitingRun waiting(const Run& run) {
  return {.seq = run.seq,
          .run = run.id,
          .asked = run.job.resources,
          .nodes = run.job.nodes,
          .priority = run.job.priority,
          .since = run.waiting_since};
}

ClusterKey key_of(const Run& run) {
  return {run.workspace, run.job.compute};
}

}  // namespace

Orchestrator::Orchestrator(store::Database& database, compute::NodeRegistry& nodes, const Clock& clock,
                           Notifier& notifier, LivenessTimes times)
    : database_(database),
      nodes_(nodes),
      clock_(clock),
      times_(times),
      transitions_(clock, notifier, *this, times.ageing),
      notifier_(notifier),
      machine_(compute::detect_machine()) {}

Orchestrator::~Orchestrator() {
  stop();
  close_engines();
}

void Orchestrator::start(compute::Engine& engine, compute::AllocatorFactory make_allocator) {
  engine_ = &engine;
  {
    const std::lock_guard lock(mutex_);
    make_allocator_ = std::move(make_allocator);
    for (auto& [key, cluster] : clusters_) open_allocator(cluster);
  }
  thread_ = std::thread([this] { loop(); });
}

std::vector<compute::NodeOrder> Orchestrator::wanted_nodes() const {
  std::vector<compute::NodeOrder> wanted;
  const std::lock_guard lock(mutex_);
  for (const compute::NodeInfo& node : nodes_.list_all())
    if (!node.record.joined && !requests_.contains(compute::request_of(node.record.id)))
      wanted.push_back({node.record.id, node.record.cluster, node.record.capacity, node.record.gpu_indices});
  return wanted;
}

void Orchestrator::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status Orchestrator::load() {
  std::vector<compute::ClusterSpec> clusters;
  std::vector<compute::NodeRecord> nodes;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(clusters, compute::all_clusters(reader));
    SLIPWAY_ASSIGN(nodes, compute::all_nodes(reader));
    for (const compute::ClusterSpec& spec : clusters) cluster_changed(spec);
    for (const compute::NodeRecord& node : nodes) {
      const bool wanted =
          clusters_.contains(node.cluster);  // else its cluster was deleted: the engine clears it away
      if (wanted) nodes_.add(node);
    }
    SLIPWAY_ASSIGN(const auto parts, open_parts(reader));
    std::map<RunId, std::vector<Part>> parts_of;
    for (const Part& part : parts) parts_of[part.key.run].push_back(part);
    SLIPWAY_TRY(for_each_active(reader, [&](const Run& run) {
      if (run.state == RunState::kQueued) run_waits(run);
      if (const auto held = parts_of.find(run.id); held != parts_of.end()) run_placed(run, held->second);
    }));
    SLIPWAY_TRY(load_allocations(reader));
    for (const Part& part : parts) {
      const auto held = nodes_.reserve(part.key, {part.node, part.granted, part.gpu_indices});
      if (!held)
        log_warning("attempt.without_node", {{"attempt", to_text(part.key)}, {"error", held.error()}});
      // Whether its node was silent before is not known any more: the first message settles it.
      const std::lock_guard lock(mutex_);
      silent_.insert(part.node);
    }
    return {};
  }));
  log_info("orchestrator.loaded", {{"clusters", clusters.size()}, {"nodes", nodes.size()}});
  return {};
}

void Orchestrator::wake(const ClusterKey& key) {
  dirty_.insert(key);
  changed_.notify_all();
}

void Orchestrator::cluster_changed(const compute::ClusterSpec& spec) {
  const std::lock_guard lock(mutex_);
  Cluster& cluster = clusters_[spec.key()];
  cluster.spec = spec;
  cluster.size = compute::node_size(spec, machine_);
  open_allocator(cluster);
  wake(spec.key());
}

void Orchestrator::let_cluster_go(const ClusterKey& key) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = clusters_.find(key);
    if (found == clusters_.end()) return;
    found->second.removing = true;
    found->second.spec.min_nodes = 0;
    found->second.spec.idle = Duration(0);
    wake(key);
  }
  forget_cluster_without_nodes(key);
}

compute::ClusterView Orchestrator::view_of(const Cluster& cluster) const {
  compute::ClusterView view =
      compute::cluster_view(cluster.spec, machine_, nodes_.joined(cluster.spec.key()));
  view.start_problem = cluster.start_problem;
  view.moment = {.now = clock_.now(), .ageing = times_.ageing};
  view.use = machine_use();
  if (cluster.allocator != nullptr) compute::take_size(view, cluster.allocator->status());
  const auto shares_machine = [](const Cluster& one, compute::Priority priority) {
    return one.spec.engine == compute::EngineKind::kLocal && one.spec.priority == priority;
  };
  if (!shares_machine(cluster, compute::Priority::kLow)) return view;
  for (const auto& [key, other] : clusters_) {
    if (!shares_machine(other, compute::Priority::kDedicated) || other.queue.empty()) continue;
    view.use.dedicated += compute::awaited_room(other.queue, nodes_.scheduler_view(key), view_of(other));
  }
  return view;
}

Result<compute::ClusterView> Orchestrator::cluster_view(const ClusterKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = clusters_.find(key);
  if (found != clusters_.end() && !found->second.removing) return view_of(found->second);
  std::vector<std::string> names;
  for (const auto& [other, cluster] : clusters_)
    if (other.workspace == key.workspace && !cluster.removing) names.push_back(other.name.str());
  return fail(ErrorCode::kNotFound,
              fmt::format("there is no cluster '{}' in workspace '{}'", key.name, key.workspace),
              fmt::format("there are: {}; or create it: slipway compute create {} --max 4",
                          fmt::join(names, ", "), key.name));
}

size_t Orchestrator::queued_runs(const ClusterKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = clusters_.find(key);
  return found == clusters_.end() ? 0 : found->second.queue.size();
}

std::string Orchestrator::why_waiting(const Run& run) const {
  if (run.state != RunState::kQueued) return "";
  const auto views = nodes_.scheduler_view(key_of(run));
  const std::lock_guard lock(mutex_);
  const auto found = clusters_.find(key_of(run));
  if (found == clusters_.end()) return fmt::format("cluster '{}' does not exist any more", run.job.compute);
  if (found->second.allocator != nullptr) return why_allocated_run_waits(found->second, run);
  for (const auto& [other, cluster] : clusters_)
    for (const auto& [id, held] : cluster.held)
      if (held.gives_way_to == run.id) return fmt::format("{} is ending to give way to this run", id);
  return compute::why(found->second.queue, run.seq, views, view_of(found->second));
}

void Orchestrator::run_waits(const Run& run) {
  const std::lock_guard lock(mutex_);
  // A cluster that was deleted keeps its waiting runs in the store; they are told why when somebody asks.
  const auto found = clusters_.find(key_of(run));
  if (found == clusters_.end()) return;
  found->second.queue.add(waiting(run));
  wake(key_of(run));
}

void Orchestrator::run_waits_no_more(const Run& run) {
  const std::lock_guard lock(mutex_);
  if (is_final(run.state)) note_allocation_over({.run = run.id, .attempt = run.attempt + 1});
  if (const auto given = allocations_.find({.run = run.id, .attempt = run.attempt});
      given != allocations_.end())
    given->second.placed = true;
  const auto found = clusters_.find(key_of(run));
  if (found == clusters_.end()) return;
  if (found->second.queue.remove(run.seq)) wake(key_of(run));
}

void Orchestrator::loop() {
  Monotonic next_watch = clock_.monotonic();
  const Duration watch_every =
      std::clamp<Duration>(times_.silence / 10, std::chrono::milliseconds(100), std::chrono::seconds(1));
  std::map<ClusterKey, Monotonic> ask_again;
  while (true) {
    std::set<ClusterKey> work;
    {
      std::unique_lock lock(mutex_);
      Monotonic until = next_watch;
      for (const auto& [key, time] : ask_again) until = std::min(until, time);
      changed_.wait_for(lock, until - clock_.monotonic(), [&] { return stopping_ || !dirty_.empty(); });
      if (stopping_) return;
      work = std::exchange(dirty_, {});
    }
    const Monotonic now = clock_.monotonic();
    for (const auto& [key, time] : ask_again)
      if (time <= now) work.insert(key);
    for (const ClusterKey& key : work) {
      ask_again.erase(key);
      if (const auto again = tend(key)) ask_again[key] = *again;
    }
    if (now >= next_watch) {
      watch_silence();
      next_watch = clock_.monotonic() + watch_every;
    }
  }
}

std::optional<Monotonic> Orchestrator::tend(const ClusterKey& key) {
  bool allocates = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = clusters_.find(key);
    allocates = found != clusters_.end() && found->second.allocator != nullptr;
  }
  if (allocates) return tend_allocations(key);
  const bool carried_out = dispatch(key) && make_way(key);
  auto again = autoscale(key);
  const auto ask_within = [&](Duration time) {
    const Monotonic then = clock_.monotonic() + time;
    again = again ? std::min(*again, then) : then;
  };
  if (!carried_out) ask_within(std::chrono::seconds(1));
  // With time alone runs rise, and others may be told to give way.
  if (queued_runs(key) > 0)
    ask_within(
        std::clamp<Duration>(times_.ageing / 8, std::chrono::milliseconds(100), std::chrono::minutes(1)));
  return again;
}

bool Orchestrator::dispatch(const ClusterKey& key) {
  const auto views = nodes_.scheduler_view(key);
  std::vector<compute::Placement> placements;
  {
    const std::lock_guard lock(mutex_);
    const auto found = clusters_.find(key);
    if (found == clusters_.end()) return true;
    placements = compute::schedule(found->second.queue, views, view_of(found->second)).placements;
  }
  if (placements.empty()) return true;
  const Status placed = place(key, placements);
  // On failure they still wait in the store and in the queue; the loop comes back to them.
  if (!placed) log_error("dispatch.failed", {{"cluster", key.name}, {"error", placed.error()}});
  return placed.has_value();
}

Status Orchestrator::place(const ClusterKey& key, const std::vector<compute::Placement>& placements) {
  std::vector<AttemptKey> reserved;
  std::vector<int64_t> gone;  // from the queue's point of view: deleted, or in another state
  const Status written = database_.write([&](store::Writer& writer) -> Status {
    for (const compute::Placement& placement : placements) {
      auto run = load_run(writer, placement.run);
      if (!run) {
        gone.push_back(placement.seq);
        continue;
      }
      std::vector<Part> parts;
      for (const compute::Grant& grant : placement.grants) {
        Part part;
        part.node = grant.node;
        part.granted = grant.granted;
        part.gpu_indices = grant.gpu_indices;
        parts.push_back(std::move(part));
      }
      SLIPWAY_ASSIGN(const Verdict verdict, transitions_.place(writer, *run, parts));
      if (verdict != Verdict::kMove) {
        gone.push_back(placement.seq);
        continue;
      }
      for (size_t i = 0; i < parts.size(); ++i) {
        SLIPWAY_TRY(nodes_.reserve(parts[i].key, placement.grants[i]));
        reserved.push_back(parts[i].key);
      }
    }
    return {};
  });
  if (!written)
    for (const AttemptKey& attempt : reserved) nodes_.release(attempt);
  const std::lock_guard lock(mutex_);
  if (const auto found = clusters_.find(key); found != clusters_.end())
    for (const int64_t seq : gone) found->second.queue.remove(seq);
  return written;
}

}  // namespace slipway::runs
