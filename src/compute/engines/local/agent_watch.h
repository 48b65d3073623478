// The table of local nodes, and the one thread that watches their agents: it starts them, starts them again,
// ends and kills them, and takes their folders apart.
//
//   down <-> up -> stopping -> removing -> (gone)      up -> halting -> halted
//
// Thread-safe. The thread alone drops a process, so that a pidfd it polls stays open.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "compute/engines/local/agent_process.h"
#include "compute/engines/local/local_engine.h"
#include "compute/engines/local/node_folder.h"

namespace slipway::compute {

class AgentWatch {
 public:
  AgentWatch(LocalEngineOptions options, NodeEventSink sink);
  // Leaves the agents running.
  ~AgentWatch();
  AgentWatch(const AgentWatch&) = delete;
  AgentWatch& operator=(const AgentWatch&) = delete;

  // A node that cannot be started is removed again.
  Status start(const NodeOrder& order);
  // A node of an earlier server: its attempts may live, so what cannot be started now is tried again and
  // again.
  void take_up(const NodeOrder& order);
  // What is on disk and not wanted: whatever lives there is ended, then the folder goes.
  void discard(const NodeId& id);
  void stop(const NodeId& id);
  Status halt(Duration within);
  std::vector<EngineNode> list() const;

 private:
  enum class Phase {
    kDown,      // wanted, and to be started when due
    kUp,        // its agent lives, as far as is known; killed when due
    kStopping,  // told to end; killed when due
    kRemoving,  // dead; the next step of the folder's removal when due
    kHalting,   // told to end by `halt`; killed when due
    kHalted,    // ended by `halt`
  };

  struct Node {
    NodeOrder order;
    Phase phase = Phase::kDown;
    bool preparing = true;              // its folder is being written: not to be touched
    bool unwanted = false;              // stopped meanwhile
    std::optional<AgentProcess> agent;  // up, stopping, halting
    Monotonic started_at{};
    Monotonic due = Monotonic::max();
    int deaths = 0;  // in a row
    std::string problem;
  };

  NodeFolder folder(const NodeId& id) const { return {options_.home, id}; }
  void wake() const;

  // Nullptr: it is there already, and `refusal` says whether that is fine.
  Node* enter(const NodeOrder& order, Status& refusal);
  // Takes up the agent that lives in the folder, or starts one.
  Status bring_up(Node& node, bool server_changed);
  void end_agent(Node& node, Phase phase);
  void begin_removal(Node& node);
  void count_death(Node& node, const std::string& reason);

  void run();
  // Sleeps until a process ends, something is due or somebody calls. False: the watch is over.
  bool wait_for_news();
  void on_end(Node& node);
  void on_due(Node& node);
  // The slow part of a removal, without the lock. A node in that phase is nobody else's.
  void remove_folder(const NodeId& id);

  LocalEngineOptions options_;
  const NodeEventSink sink_;
  const UniqueFd wake_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::map<NodeId, Node> nodes_;
  std::vector<NodeEvent> events_;  // to be delivered by the thread, without the lock
  bool over_ = false;
  std::thread thread_;
};

}  // namespace slipway::compute
