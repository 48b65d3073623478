// Scheduler, autoscaler and registry together, driven by seeded random workloads on a clock of their own:
// runs come, take a while and end; nodes take a while to come up, fail to, or are lost; limits change.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "compute/autoscaler.h"
#include "compute/node_registry.h"
#include "compute/scheduler.h"

namespace slipway::compute {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const ClusterKey kCluster{WorkspaceName("default"), ClusterName("cpu")};
const NodeCapacity kSize{.cpus = 4, .memory_bytes = uint64_t{8} << 30, .gpus = 2, .gpu_names = {}};

struct Workload {
  double arrivals_per_step = 0.3;
  int most_nodes_asked = 3;
  double failed_starts = 0;
  double losses_per_step = 0;
  bool change_limits = false;
};

class Simulation {
 public:
  Simulation(unsigned seed, Workload workload) : random_(seed), workload_(workload) {
    limits_.min_nodes = pick(0, 2);
    limits_.max_nodes = pick(3, 6);
    limits_.idle = seconds(pick(0, 20));
    limits_.start_timeout = seconds(10);
  }

  void submit(int nodes, Resources asked, Duration length) {
    const int64_t seq = ++submitted_;
    runs_[seq] = {.seq = seq, .nodes = nodes, .asked = asked, .length = length};
    queue_.add({.seq = seq, .run = id_of(seq), .asked = asked, .nodes = nodes});
  }

  void submit_something() {
    const int kind = pick(0, 9);
    Resources asked;
    if (kind < 5) asked = {.cpus = 0.1 * pick(1, 40), .memory_bytes = uint64_t{1} << pick(20, 32)};
    if (kind < 2) asked.gpus = pick(0, 2);
    submit(pick(1, workload_.most_nodes_asked), asked, milliseconds(pick(100, 15'000)));
  }

  // A tenth of a second passes.
  void step(bool arrivals) {
    clock_.advance(milliseconds(100));
    if (arrivals && chance(workload_.arrivals_per_step)) submit_something();
    if (workload_.change_limits && chance(0.002)) limits_.max_nodes = pick(3, 6);
    if (limits_.min_nodes > limits_.max_nodes) limits_.min_nodes = limits_.max_nodes;
    bring_nodes_up();
    lose_nodes();
    end_runs();
    for (const NodeInfo& node : registry_.list(kCluster))
      if (node.record.registered && !dead_.contains(node.record.id))
        (void)registry_.heard_from(node.record.id);
    tend();
    check();
  }

  bool all_done() const { return ended_ == submitted_; }
  bool done(int64_t seq) const { return runs_.at(seq).state == State::kEnded; }
  Duration waited(int64_t seq) const { return runs_.at(seq).waited; }
  size_t nodes() const { return registry_.size(); }
  int64_t submitted() const { return submitted_; }
  const ScalerLimits& limits() const { return limits_; }
  ScalerLimits& limits() { return limits_; }

 private:
  enum class State { kWaiting, kRunning, kEnded };
  struct SimulatedRun {
    int64_t seq = 0;
    int nodes = 1;
    Resources asked;
    Duration length{};
    State state = State::kWaiting;
    int attempt = 0;
    Monotonic ends{};
    Duration waited{};
  };

  static RunId id_of(int64_t seq) { return RunId(fmt::format("run-{}", seq)); }
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }

  ClusterView view() const {
    return {.name = kCluster.name,
            .max_nodes = limits_.max_nodes,
            .node_size = to_amount(kSize),
            .machine = to_amount(kSize),
            .start_problem = ""};
  }

  void bring_nodes_up() {
    for (auto node = coming_.begin(); node != coming_.end();) {
      if (node->second > clock_.monotonic()) {
        ++node;
        continue;
      }
      if (registry_.registered(node->first, kSize, "127.0.0.1", 1)) backoff_.succeeded();
      node = coming_.erase(node);
    }
  }

  void lose_nodes() {
    for (const NodeInfo& node : registry_.list(kCluster)) {
      if (!node.record.registered || !chance(workload_.losses_per_step)) continue;
      for (const AttemptKey& key : node.attempts) requeue(key);
      registry_.set_lost(node.record.id);
      dead_.insert(node.record.id);
    }
  }

  void requeue(const AttemptKey& lost) {
    const int64_t seq = std::stoll(lost.run.str().substr(4));
    SimulatedRun& run = runs_.at(seq);
    if (run.state != State::kRunning) return;
    release(run);
    run.state = State::kWaiting;
    queue_.add({.seq = seq, .run = id_of(seq), .asked = run.asked, .nodes = run.nodes});
  }

  void release(const SimulatedRun& run) {
    for (int rank = 0; rank < run.nodes; ++rank)
      EXPECT_TRUE(registry_.release({id_of(run.seq), run.attempt, rank}));
  }

  void end_runs() {
    for (auto& [seq, run] : runs_) {
      if (run.state == State::kWaiting) run.waited += milliseconds(100);
      if (run.state != State::kRunning || run.ends > clock_.monotonic()) continue;
      release(run);
      run.state = State::kEnded;
      ++ended_;
    }
  }

  void tend() {
    place();
    for (int rounds = 0; rounds < 2; ++rounds) scale_once();
  }

  void place() {
    for (const Placement& placement :
         schedule(queue_, registry_.scheduler_view(kCluster), view()).placements) {
      SimulatedRun& run = runs_.at(placement.seq);
      ASSERT_EQ(run.state, State::kWaiting);
      ASSERT_EQ(placement.grants.size(), static_cast<size_t>(run.nodes)) << "all its nodes or none";
      ++run.attempt;
      std::set<NodeId> distinct;
      for (int rank = 0; rank < run.nodes; ++rank) {
        const Grant& grant = placement.grants[static_cast<size_t>(rank)];
        ASSERT_TRUE(distinct.insert(grant.node).second);
        ASSERT_TRUE(registry_.reserve({id_of(run.seq), run.attempt, rank}, grant));
      }
      run.state = State::kRunning;
      run.ends = clock_.monotonic() + run.length;
      ASSERT_TRUE(queue_.remove(placement.seq));
    }
  }

  void scale_once() {
    const auto before = registry_.counts(kCluster);
    const ScalerDecision decision =
        scale({.nodes_wanted = nodes_wanted(queue_, registry_.scheduler_view(kCluster), view()),
               .runs_wait = runs_wait(queue_, view()),
               .nodes = registry_.scaler_view(kCluster, kSize),
               .limits = limits_,
               .backoff = backoff_,
               .now = clock_.monotonic()});
    const int kept = before.starting + before.idle + before.busy - static_cast<int>(decision.drain.size()) -
                     static_cast<int>(decision.give_up.size());
    if (!decision.drain.empty()) {
      EXPECT_GE(kept, limits_.min_nodes);
    }
    for (const NodeId& node : decision.drain) registry_.set_draining(node);
    for (const NodeId& node : decision.stop) {
      EXPECT_TRUE(registry_.find(node)->attempts.empty()) << "stopped while busy";
      forget(node);
    }
    for (const NodeId& node : decision.give_up) {
      backoff_.failed(clock_.monotonic());
      forget(node);
    }
    for (int i = 0; i < decision.start; ++i) start_node();
  }

  void forget(const NodeId& node) {
    registry_.remove(node);
    coming_.erase(node);
    dead_.erase(node);
  }

  void start_node() {
    const NodeId id(fmt::format("n-{}", ++started_));
    registry_.add({.id = id,
                   .cluster = kCluster,
                   .capacity = kSize,
                   .gpu_indices = {0, 1},
                   .address = "",
                   .created_at = clock_.now()});
    if (!chance(workload_.failed_starts)) coming_[id] = clock_.monotonic() + milliseconds(pick(50, 3000));
  }

  void check() {
    int most = 0;
    for (const NodeInfo& node : registry_.list(kCluster)) {
      EXPECT_GE(node.free.milli_cpus, 0);
      EXPECT_GE(node.free.memory_bytes, 0);
      EXPECT_GE(node.free.gpus, 0);
      if (node.state != NodeState::kDraining) ++most;
    }
    for (const NodeView& node : registry_.scheduler_view(kCluster))
      EXPECT_EQ(static_cast<int>(node.free_gpus.size()), node.free.gpus) << "a GPU was granted twice";
    EXPECT_LE(most, limits_.max_nodes);
  }

  std::mt19937 random_;
  const Workload workload_;
  ManualClock clock_;
  NodeRegistry registry_{clock_, seconds(5)};
  WaitingRuns queue_;
  ScalerLimits limits_;
  StartBackoff backoff_;
  std::map<int64_t, SimulatedRun> runs_;
  std::map<NodeId, Monotonic> coming_;
  std::set<NodeId> dead_;
  int64_t submitted_ = 0;
  int64_t ended_ = 0;
  int started_ = 0;
};

class Elasticity : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Elasticity, testing::Range(1U, 6U));

void run_to_the_end(Simulation& simulation) {
  for (int i = 0; i < 250 && !testing::Test::HasFailure(); ++i) simulation.step(true);
  int rest = 0;
  while (!simulation.all_done() && ++rest < 100'000 && !testing::Test::HasFailure()) simulation.step(false);
  EXPECT_TRUE(simulation.all_done()) << "some of " << simulation.submitted() << " runs were never placed";
}

TEST_P(Elasticity, EveryRunIsPlacedAndIdleNodesGoDownToTheMinimum) {
  Simulation simulation(GetParam(), {});
  run_to_the_end(simulation);
  const int settle = static_cast<int>(simulation.limits().idle / milliseconds(100)) + 10;
  for (int i = 0; i < settle + 50; ++i) simulation.step(false);
  EXPECT_EQ(static_cast<int>(simulation.nodes()), simulation.limits().min_nodes);
}

TEST_P(Elasticity, EveryRunIsPlacedThoughNodesFailAndAreLostAndLimitsChange) {
  Simulation simulation(GetParam(), {.failed_starts = 0.3, .losses_per_step = 0.002, .change_limits = true});
  run_to_the_end(simulation);
}

TEST_P(Elasticity, AGangIsNotOvertakenForEverByAStreamOfSmallRuns) {
  Simulation simulation(GetParam(), {.arrivals_per_step = 0});
  simulation.limits().max_nodes = 4;
  const auto stream = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      simulation.submit(1, {.cpus = 0.7, .memory_bytes = 1 << 20}, seconds(3));
      simulation.step(false);
    }
  };
  stream(60);
  simulation.submit(3, {}, seconds(1));
  const int64_t gang = simulation.submitted();
  stream(450);
  // The runs before it take their time; those behind it could have filled the cluster for ever.
  EXPECT_TRUE(simulation.done(gang));
  EXPECT_LT(simulation.waited(gang), seconds(40));
}

}  // namespace
}  // namespace slipway::compute
