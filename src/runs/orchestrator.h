// Brings waiting runs and nodes together: keeps the queues, asks the scheduler and the autoscaler whenever
// something has changed, carries out what they say, and notices nodes that have fallen silent.
//
// Invariants
//   1. The queues hold exactly the runs whose stored state is Queued, but for changes whose commit has just
//   happened.
//   2. A run is ordered to a node only inside the transaction that makes it Preparing; what was set aside for
//   an order
//      that did not commit is released.
//   3. Everything kept here can be read again from the store: `load` does.
//   4. A run is told to give way inside one transaction with the orders for its nodes to end it; a server
//      that dies after that finds both, and one that dies before has asked nobody.
//   5. On a cluster whose engine finds nodes by itself (an allocator), a waiting run has at most one
//      allocation, and is placed on that one's nodes, once all of them have registered, and on no others.
// One thread of its own (the loop); the other members may be called from any thread.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/notifier.h"
#include "base/secret.h"
#include "compute/allocator.h"
#include "compute/autoscaler.h"
#include "compute/cluster.h"
#include "compute/engine.h"
#include "compute/node_registry.h"
#include "compute/preemption.h"
#include "compute/scheduler.h"
#include "compute/standing.h"
#include "compute/waiting_runs.h"
#include "runs/allocation_table.h"
#include "runs/transitions.h"
#include "store/database.h"

namespace slipway::runs {

struct LivenessTimes {
  Duration heartbeat = std::chrono::seconds(5);
  Duration silence = std::chrono::seconds(30);  // then NotResponding
  Duration grace = std::chrono::minutes(10);    // then lost, and tried again elsewhere
  Duration ageing = compute::kDefaultAgeing;    // of runs that wait: see compute/standing.h
  // How long the nodes of a run wait for the last of them; building an environment may take its time.
  Duration rendezvous = std::chrono::minutes(30);
};

class Orchestrator final : public TransitionObserver {
 public:
  // All outlive the orchestrator. The engine is given by `start`, because it reports to `node_event`.
  Orchestrator(store::Database& database, compute::NodeRegistry& nodes, const Clock& clock,
               Notifier& notifier, LivenessTimes times);
  ~Orchestrator() override;

  // Reads clusters, nodes, waiting runs and open attempts from the store. To be called first.
  Status load();
  // The nodes that should be there, for the engine to find again or to start.
  std::vector<compute::NodeOrder> wanted_nodes() const;
  // Starts the loop. The factory is asked for each cluster whose engine finds nodes by itself.
  void start(compute::Engine& engine, compute::AllocatorFactory make_allocator = {});
  void stop();
  // After `stop`: no engine is asked or heard any more.
  void close_engines();

  const Transitions& transitions() const { return transitions_; }
  const LivenessTimes& times() const { return times_; }
  const compute::Machine& machine() const { return machine_; }
  void notify(const std::string& topic) { notifier_.notify(topic); }

  // Clusters, after their rows have changed.
  void cluster_changed(const compute::ClusterSpec& spec);
  // Its row is deleted: it takes no runs any more, and its nodes are let go.
  void let_cluster_go(const compute::ClusterKey& key);
  // kNotFound.
  Result<compute::ClusterView> cluster_view(const compute::ClusterKey& key) const;
  size_t queued_runs(const compute::ClusterKey& key) const;
  // Why the run waits; empty when it does not.
  std::string why_waiting(const Run& run) const;

  // A machine that comes by itself; gives the token for its agent. kConflict: the name is taken.
  Result<Secret> add_joined_node(const compute::NodeRecord& node);
  // Takes no more work; gone once it has none. kConflict for a node of the engine's.
  Status let_node_go(const NodeId& node);
  // How its engine stands; nullopt for clusters of this machine.
  std::optional<compute::AllocatorStatus> engine_status(const compute::ClusterKey& key) const;
  // Ends the allocations that no node has come of; they are asked for again by the next server.
  void end_waiting_allocations(Duration within);

  // From agents.
  Status node_registered(const NodeId& node, const NodeCapacity& capacity, const std::string& address,
                         int pid, const std::vector<int>& gpu_indices = {});
  // Whether a bad end of the attempt may be its engine's doing, and not its own. Asks the engine, so it takes
  // a moment. If so, the engine tells in a while how it really ended, and the run is settled then.
  bool may_be_ended_by_engine(const AttemptKey& key) const;
  Status node_heard_from(const NodeId& node);
  // From the engine.
  void node_event(const compute::NodeEvent& event);
  void allocation_event(const compute::AllocationEvent& event);
  // The open parts that this node should have but did not list twice in a row are given up.
  Status attempts_missing(const NodeId& node, const std::vector<AttemptKey>& held);

  void run_waits(const Run& run) override;
  void run_waits_no_more(const Run& run) override;
  void run_placed(const Run& run, const std::vector<Part>& parts) override;
  void attempt_moved(const Run& run) override;
  void attempt_is_over(const Run& run) override;

 private:
  struct Cluster {
    compute::ClusterSpec spec;
    compute::NodeSize size;
    compute::WaitingRuns queue;
    std::map<RunId, compute::HeldRun> held;  // those that have its nodes
    compute::StartBackoff backoff;
    std::string start_problem;
    bool removing = false;
    std::shared_ptr<compute::Allocator> allocator;  // shared with those who ask it something just now
  };

  struct Allocation {
    StoredAllocation stored;
    bool placed = false;                         // the run was given its nodes
    bool over = false;                           // the run does not need it any more
    bool let_go = false;                         // and all have been told
    std::optional<compute::AllocationEnd> gone;  // nothing of it is left in the engine
  };

  void loop();
  void wake(const compute::ClusterKey& key);
  std::optional<Monotonic> tend(const compute::ClusterKey& key);
  bool dispatch(const compute::ClusterKey& key);
  Status place(const compute::ClusterKey& key, const std::vector<compute::Placement>& placements);
  bool make_way(const compute::ClusterKey& key);
  std::vector<compute::Candidate> candidates_for(const compute::ClusterKey& key) const;
  compute::MachineUse machine_use() const;
  bool machine_is_shared() const;
  std::optional<Monotonic> autoscale(const compute::ClusterKey& key);
  void start_nodes(const compute::ClusterKey& key, int count);
  void drain_node(const NodeId& node);
  void remove_idle_joined(const compute::ClusterKey& key);
  void forget_cluster_without_nodes(const compute::ClusterKey& key);
  void start_failed(const compute::ClusterKey& key, const std::string& why);
  void watch_silence();

  // Of clusters with an allocator (orchestrator_allocations.cc).
  Status load_allocations(store::Reader& reader);
  void open_allocator(Cluster& cluster);
  std::optional<Monotonic> tend_allocations(const compute::ClusterKey& key);
  bool place_arrived(const compute::ClusterKey& key);
  std::optional<compute::Placement> placement_for(const Allocation& allocation) const;
  std::optional<Monotonic> request_allocations(const compute::ClusterKey& key);
  void let_allocations_go(const compute::ClusterKey& key);
  std::optional<Monotonic> remove_gone(const compute::ClusterKey& key);
  void allocation_ended(const compute::AllocationEvent& event, const Allocation& allocation);
  Status settle(const compute::AllocationEvent& event);
  Status end_waiting_run(const RunId& id, EventKind kind, const std::string& reason);
  std::string why_allocated_run_waits(const Cluster& cluster, const Run& run) const;
  void note_allocation_over(const compute::AllocationKey& key);
  Status tell_runs_of(const NodeId& node, EventKind kind, const std::string& reason);
  compute::ClusterView view_of(const Cluster& cluster) const;

  store::Database& database_;
  compute::NodeRegistry& nodes_;
  const Clock& clock_;
  const LivenessTimes times_;
  const Transitions transitions_;
  Notifier& notifier_;
  compute::Engine* engine_ = nullptr;
  const compute::Machine machine_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool stopping_ = false;
  std::map<compute::ClusterKey, Cluster> clusters_;
  std::set<compute::ClusterKey> dirty_;
  std::set<NodeId> silent_;  // nodes whose runs have been told
  std::map<NodeId, std::set<AttemptKey>> missing_once_;
  compute::AllocatorFactory make_allocator_;
  std::map<compute::AllocationKey, Allocation> allocations_;
  std::map<std::string, compute::AllocationKey> requests_;
  std::set<compute::AllocationKey> arrived_;  // a node of theirs has registered
  std::thread thread_;
};

}  // namespace slipway::runs
