// The two threads on which the server speaks to the agent: the stream of orders, and the heartbeat's answers.
// Each has a connection of its own, so that neither waits for the shipping of logs. Orders may come twice,
// late or out of order.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "node/agent_config.h"
#include "node/agent_held.h"
#include "node/agent_link.h"
#include "node/agent_waiting.h"

namespace slipway::node {

struct OrderTimes {
  Duration refused_for_good = std::chrono::seconds(60);  // of clear refusals of the node itself
  Duration answer_time = std::chrono::seconds(10);       // of a heartbeat
  Duration silence = std::chrono::seconds(45);           // of the stream: then it is broken
  Duration backoff_cap = std::chrono::seconds(5);
};

class OrderIntake {
 public:
  // `on_change` is called when `drained` or `refused` may have become true. All outlive this.
  OrderIntake(const NodePaths& paths, const AgentConfig& config, ServerLink& server, HeldAttempts& attempts,
              OrderTimes times, std::function<void()> on_change);
  // Stops and joins; where the link has been stopped, no call is waited for.
  ~OrderIntake();

  void start();
  // No more calls after the one in progress, which stopping the link ends.
  void stop();
  // The server wants no more of this node than the end of what it holds.
  bool draining() const { return draining_; }
  // The server has not known this node for so long that it will not again.
  bool refused() const { return refused_; }

 private:
  void beat();
  void listen();
  Status register_node();
  Status send_heartbeat();
  Result<json::object> post(std::string_view what, const json::object& body);
  void note_answer(const Status& answer);
  void take_order(const http::Event& event);
  void drain();
  void find_server_again();
  json::array held_keys() const;

  const NodePaths& paths_;
  const AgentConfig& config_;
  ServerLink& server_;
  HeldAttempts& attempts_;
  const OrderTimes times_;
  const std::function<void()> on_change_;

  std::atomic<bool> stopped_ = false;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> refused_ = false;
  std::atomic<bool> registered_ = false;
  // Of the heartbeat's thread.
  std::optional<ServerLink::Lease> connection_;
  std::optional<Monotonic> refused_since_;
  Duration heartbeat_ = std::chrono::seconds(5);

  Wakeup beat_wake_;
  Wakeup listen_wake_;
  std::thread beating_;
  std::thread listening_;
};

}  // namespace slipway::node
