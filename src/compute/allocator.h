// An engine that finds the nodes of a run by itself: it is asked for one allocation for each attempt, puts it
// into a queue of its own, and the nodes register when they are there.
//
// Invariants
//   1. An allocation belongs to one attempt of one run. Its nodes and their tokens serve nothing else; a run
//      that is tried again gets another allocation.
//   2. It is known here from `request` or `take_up` until kGone has been told. Whatever happens in between,
//      the server's own end included, at most one live allocation comes of one request.
//   3. Calls return at once; what becomes of them is told to the sink, on a thread of the allocator.
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "base/secret.h"
#include "compute/cluster.h"
#include "protocol/job.h"

namespace slipway::compute {

struct AllocationKey {
  RunId run;
  int attempt = 1;  // the one that its nodes will carry out
  auto operator<=>(const AllocationKey&) const = default;
};

struct AllocationRequest {
  AllocationKey key;
  std::string id;  // of this request, and of no other; node ids are made from it
  int nodes = 1;
  bool low_priority = false;  // it may be ended for others
  Resources asked;            // on each node; nothing named: the whole of it
  Duration time_limit{};      // 0: what the engine gives by default
};

// "cluster1-3f9a2k-0": the node of that rank.
NodeId allocated_node(const std::string& request, int rank);
// The request that a node was made for; empty for other nodes.
std::string request_of(const NodeId& node);

// Why an allocation is over.
enum class AllocationEnd {
  kDone,       // its agents ended, as they do after their attempt
  kLost,       // a node failed, or it was ended and nobody says why
  kPreempted,  // others needed its nodes
  kOverTime,   // its time was up
  kCanceled,   // somebody canceled it, not through Slipway
};

enum class AllocationEventKind {
  kAccepted,  // `job` is its name in the engine
  kRefused,   // it can never be had; kGone follows
  kEnded,     // `end` says why; kGone follows
  kGone,      // nothing of it is left in the engine; `end` is kDone when its agents have ended by themselves
};

struct AllocationEvent {
  AllocationEventKind kind = AllocationEventKind::kAccepted;
  AllocationKey key;
  std::string job;
  AllocationEnd end = AllocationEnd::kDone;
  std::string reason;  // for people
};
using AllocationSink = std::function<void(const AllocationEvent&)>;

// How an allocation stands, for people and for the end of a run.
struct AllocationView {
  std::string job;
  std::string waiting_because;  // empty once its nodes are there
  bool running = false;
};

// Nodes of the engine that the cluster may use.
struct EngineNodes {
  int total = 0;
  int idle = 0;
  int busy = 0;
  int down = 0;
  int asleep = 0;  // powered down; started when they are wanted
  NodeCapacity largest;
};

struct AllocatorStatus {
  bool reachable = false;
  std::string version;
  std::string problem;  // why it is not reachable, or why nothing can be had from it
  std::string next;     // what to do about that
  std::optional<EngineNodes> nodes;
  Duration look_time{};  // of the last look at all jobs
};
json::object to_json(const AllocatorStatus& status);

class Allocator {
 public:
  virtual ~Allocator() = default;
  // Repeating is harmless.
  virtual void request(const AllocationRequest& request) = 0;
  // One of an earlier server; `job` is empty when it is not known whether it was accepted, `up` is what
  // `nodes_are_up` has said.
  virtual void take_up(const AllocationRequest& request, const std::string& job, bool up) = 0;
  // All its nodes have registered: from now on it is lost when the engine takes it back into its queue.
  virtual void nodes_are_up(const AllocationKey& key) = 0;
  // It is not wanted any more: it may end by itself until `grace` is over, then it is ended.
  virtual void release(const AllocationKey& key, Duration grace) = 0;
  virtual std::optional<AllocationView> find(const AllocationKey& key) const = 0;
  // Asks the engine itself, on the caller's thread, whether the allocation goes on undisturbed. False: it is
  // being ended, or has been; kEnded tells why. Also false when the engine does not answer.
  virtual bool goes_on(const AllocationKey& key) = 0;
  virtual void cluster_changed(const ClusterSpec& spec) = 0;
  virtual AllocatorStatus status() const = 0;
  // Ends what no node has come of, and returns when that is done or `within` is over.
  virtual void end_waiting(Duration within) = 0;
};

using AllocatorFactory = std::function<std::unique_ptr<Allocator>(const ClusterSpec&, AllocationSink)>;

}  // namespace slipway::compute
