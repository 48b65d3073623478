// Nodes as processes of this machine: each is `slipway agent --home H --node ID` in a session of its own,
// which outlives the server.
//
// Invariants
//   1. Whether an agent lives is asked of the lock on nodes/<id>/lock, which it holds for life; a pid counts
//   only
//      together with the start time written into that lock. Signals go through a pidfd, so never to a reused
//      pid.
//   2. At most one agent a node: a second one cannot take the lock and ends.
//   3. A node is wanted from start_node until stop_node. A wanted node whose agent dies gets another one,
//   which finds
//      the running supervisors again: at once the first time, with doubling waits when it keeps dying.
//   4. A node's folder goes when its agent is dead and no supervisor lives in it; supervisors left behind by
//   a node
//      that is not wanted are told to kill their job.
//   5. Agents that this process started are reaped when they end; those of an earlier server are init's.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/secret.h"
#include "compute/engine.h"

namespace slipway::compute {

struct LocalEngineOptions {
  std::filesystem::path home;
  std::string url;  // of the server, for the agents
  std::filesystem::path program = "/proc/self/exe";
  // Makes a node's token, once for each node; it is written to a 0600 file and not kept.
  std::function<Result<Secret>(const NodeId&)> make_token;
  Duration stop_grace = std::chrono::seconds(10);   // between SIGTERM and SIGKILL for an agent
  Duration restart_wait = std::chrono::seconds(1);  // after the second death in a row; doubles up to a minute
  Duration healthy_life = std::chrono::seconds(30);  // an agent that lived so long has not died "in a row"
};

class LocalEngine final : public Engine {
 public:
  LocalEngine(LocalEngineOptions options, NodeEventSink sink);
  // Leaves the agents running.
  ~LocalEngine() override;

  // To be called once, before anything else: takes up the agents of an earlier server that are wanted still,
  // starts those that died meanwhile, and ends and removes what is not wanted. Each agent's file gets this
  // server's url.
  Status recover(const std::vector<NodeOrder>& wanted);

  Status start_node(const NodeOrder& order) override;
  Status stop_node(const NodeId& node) override;
  std::vector<EngineNode> nodes() override;
  Duration start_time() const override { return std::chrono::milliseconds(200); }

  // For `slipway down`: ends every agent and waits until they are gone. Folders stay, and so does what is
  // wanted: a later `recover` starts them again. kTimeout when one does not end even by SIGKILL.
  Status stop_agents(Duration within);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway::compute
