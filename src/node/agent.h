// The agent: one process for each node. It takes orders from the server, starts a supervisor for each
// attempt, ships what the supervisors write and keeps what jobs leave. It holds nothing that its folders do
// not: killed at any moment and started again it goes on where it was, and no job notices.
//
//   OrderIntake (orders, heartbeat) -> HeldAttempts -> HeldAttempt, one thread each -> ServerLink
//                                                    -> SupervisorHandle -> the supervisor's folder
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "node/agent_attempt.h"
#include "node/agent_orders.h"

namespace slipway::node {

struct AgentOptions {
  std::filesystem::path home;
  NodeId node;
  std::filesystem::path supervisor = "/proc/self/exe";  // run as `supervisor supervise DIR`
  AttemptTimes attempt_times;
  OrderTimes order_times;
};

class Agent {
 public:
  // Takes the node's lock, reads its configuration and finds what an earlier agent has left. kConflict when
  // another agent of this node runs.
  static Result<std::unique_ptr<Agent>> create(const AgentOptions& options);
  ~Agent();

  // Works until the node is drained and empty, is refused for good and empty, or `stop` is called.
  // Supervisors live on. On a node that is lent for one attempt, it works until that is over, and `stop` ends
  // the attempt first.
  void run();
  // From any thread.
  void stop();
  bool is_lent() const;

 private:
  class Parts;
  static void end_attempts(Parts& parts);
  explicit Agent(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// `slipway agent --home H --node ID`: until drained, or SIGTERM or SIGINT.
Status run_agent(const AgentOptions& options);

}  // namespace slipway::node
