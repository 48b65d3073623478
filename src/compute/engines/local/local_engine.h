// Nodes as processes of this machine: each is `slipway agent --home H --node ID` in a session of its own,
// which outlives the server.
//
// Invariants
//   1. Whether an agent lives is asked of the lock on nodes/<id>/lock, which it holds for life; a pid
//      counts only together with the start time written into that lock. Signals go through a pidfd, so
//      never to a reused pid.
//   2. At most one agent a node: a second one cannot take the lock and ends.
//   3. A node is wanted from start_node until stop_node. A wanted node whose agent dies gets another one,
//      which finds the running supervisors again: at once the first time, with doubling waits when it
//      keeps dying.
//   4. A node's folder goes when its agent is dead and no supervisor lives in it; supervisors left behind
//      by a node that is not wanted are told to kill their job.
//   5. Agents that this process started are reaped when they end; those of an earlier server are init's.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/secret.h"
#include "compute/engine.h"

namespace slipway::compute {

struct LocalEngineOptions {
  std::filesystem::path home;
  std::string url;                     // of the server, for the agents
  std::string ca_file = {};            // for an https url with a certificate of one's own
  std::filesystem::path program = {};  // of the agents; empty: this one
  // Makes a node's token, once for each node; it goes into a 0600 file and is not kept.
  std::function<Result<Secret>(const NodeId&)> make_token;
  // Ends what a dead supervisor has left of its attempt, and removes the attempt's folder. Unset: only
  // removes it.
  std::function<Status(const std::filesystem::path& folder)> clear_attempt = {};
  Duration stop_grace = std::chrono::seconds(10);   // between SIGTERM and SIGKILL for an agent
  Duration restart_wait = std::chrono::seconds(1);  // after the second death in a row; doubles up to a minute
  Duration healthy_life = std::chrono::seconds(30);  // an agent that lived so long has not died "in a row"
};

class AgentWatch;

class LocalEngine final : public Engine {
 public:
  LocalEngine(LocalEngineOptions options, NodeEventSink sink);
  // Leaves the agents running. No event is delivered any more once it returns.
  ~LocalEngine() override;

  // To be called once, before anything else: takes up the agents of an earlier server that are wanted still,
  // starts those that died meanwhile, and ends and removes what is not wanted. An agent that knows another
  // address of the server is started again with this one. A node that fails is tried again by itself; an
  // error only when the folder of the nodes cannot be made.
  Status recover(const std::vector<NodeOrder>& wanted);

  Status start_node(const NodeOrder& order) override;
  Status stop_node(const NodeId& node) override;
  std::vector<EngineNode> nodes() override;
  Duration start_time() const override { return std::chrono::milliseconds(200); }

  // For `slipway down`: ends every agent and waits until they are dead. Folders stay, and so does what is
  // wanted: the `recover` of a later server starts them again. kTimeout when one is left after `within`.
  Status stop_agents(Duration within);

 private:
  const std::filesystem::path home_;
  std::unique_ptr<AgentWatch> watch_;
};

}  // namespace slipway::compute
