#include "node/agent_orders.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

namespace slipway::node {
namespace {

struct Order {
  AttemptKey key;
  CancelOrder cancel;
};

Result<Order> read_order(const json::object& object) {
  SLIPWAY_ASSIGN(AttemptKey key, attempt_key_from_json(object));
  Order order{.key = std::move(key), .cancel = {}};
  double grace = 10;
  JsonFields fields(object, "an order");
  fields.optional("reason", order.cancel.reason);
  fields.optional("grace_seconds", grace);
  fields.optional("kill", order.cancel.kill);
  SLIPWAY_TRY(fields.finish_lenient());
  order.cancel.grace = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(grace));
  return order;
}

json::object load() {
  double average = 0;
  if (::getloadavg(&average, 1) != 1) return {};
  return {{"one_minute", average}};
}

}  // namespace

OrderIntake::OrderIntake(const NodePaths& paths, const AgentConfig& config, ServerLink& server,
                         HeldAttempts& attempts, OrderTimes times, std::function<void()> on_change)
    : paths_(paths),
      config_(config),
      server_(server),
      attempts_(attempts),
      times_(times),
      on_change_(std::move(on_change)) {}

void OrderIntake::start() {
  beating_ = std::thread([this] { beat(); });
  listening_ = std::thread([this] { listen(); });
}

void OrderIntake::stop() {
  stopped_ = true;
  beat_wake_.raise();
  listen_wake_.raise();
}

OrderIntake::~OrderIntake() {
  stop();
  if (beating_.joinable()) beating_.join();
  if (listening_.joinable()) listening_.join();
}

json::array OrderIntake::held_keys() const {
  json::array keys;
  for (const AttemptKey& key : attempts_.keys()) keys.push_back(to_json(key));
  return keys;
}

void OrderIntake::beat() {
  Backoff backoff(times_.backoff_cap);
  while (!stopped_) {
    const Status answer = registered_ ? send_heartbeat() : register_node();
    note_answer(answer);
    if (answer) {
      backoff.reset();
      beat_wake_.wait(heartbeat_);
      continue;
    }
    if (!stopped_) log_info("agent.heartbeat_failed", {{"error", answer.error()}});
    find_server_again();
    beat_wake_.wait(backoff.next());
  }
}

Result<json::object> OrderIntake::post(std::string_view what, const json::object& body) {
  if (!connection_) connection_.emplace(server_.borrow_within(times_.answer_time));
  auto answer = ServerLink::post_on(**connection_, server_.node_target(what), body);
  if (!answer) connection_.reset();
  return answer;
}

Status OrderIntake::register_node() {
  const json::object body{
      {"capacity", to_json(config_.capacity)},
      {"address", config_.address},
      {"version", SLIPWAY_VERSION},
      {"gpu_indices", json::array(config_.gpu_indices.begin(), config_.gpu_indices.end())},
      {"pid", ::getpid()},
      {"attempts", held_keys()}};
  SLIPWAY_ASSIGN(const json::object answer, post("register", body));
  double seconds = 5;
  JsonFields fields(answer, "the answer to the registration");
  fields.optional("heartbeat_seconds", seconds);
  SLIPWAY_TRY(fields.finish_lenient());
  heartbeat_ = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  registered_ = true;
  listen_wake_.raise();
  log_info("agent.registered", {{"node", config_.node}, {"url", server_.url()}});
  return {};
}

Status OrderIntake::send_heartbeat() {
  const json::object body{{"attempts", held_keys()}, {"load", load()}};
  SLIPWAY_ASSIGN(const json::object answer, post("heartbeat", body));
  json::array kill;
  json::array cancel;
  bool drain = false;
  JsonFields fields(answer, "the answer to the heartbeat");
  fields.optional("kill", kill);
  fields.optional("cancel", cancel);
  fields.optional("drain", drain);
  SLIPWAY_TRY(fields.finish_lenient());
  for (const json::value& item : kill) {
    if (!item.is_object()) continue;
    if (const auto key = attempt_key_from_json(item.get_object())) attempts_.fence(*key);
  }
  for (const json::value& item : cancel) {
    if (!item.is_object()) continue;
    if (const auto order = read_order(item.get_object())) attempts_.cancel(order->key, order->cancel);
  }
  if (drain) this->drain();
  return {};
}

// Silence or trouble of the server says nothing about this node; a clear "I do not know you" does, if it
// lasts.
void OrderIntake::note_answer(const Status& answer) {
  const bool disowned = !answer && (answer.error().code == ErrorCode::kNotFound ||
                                    answer.error().code == ErrorCode::kUnauthenticated ||
                                    answer.error().code == ErrorCode::kPermissionDenied);
  if (!disowned) {
    refused_since_.reset();
    return;
  }
  registered_ = false;
  const Monotonic now = std::chrono::steady_clock::now();
  if (!refused_since_) refused_since_ = now;
  if (now - *refused_since_ < times_.refused_for_good) return;
  refused_ = true;
  on_change_();
}

// A server that was started again may listen elsewhere; it then writes agent.json anew.
void OrderIntake::find_server_again() {
  const auto config = read_agent_config(paths_);
  if (config && config->url != server_.url()) {
    log_info("agent.server_moved", {{"url", config->url}});
    server_.set_url(config->url);
  }
}

void OrderIntake::listen() {
  Backoff backoff(times_.backoff_cap);
  std::string last_id;
  while (!stopped_) {
    if (!registered_) {
      listen_wake_.wait(std::chrono::seconds(1));
      continue;
    }
    bool heard = false;
    ServerLink::Lease client = server_.borrow();
    client.broken();  // a stream's connection serves nothing else
    const Status ended = client->events(
        server_.node_target("orders"), last_id,
        [&](const http::Event& event) {
          heard = true;
          if (!event.id.empty()) last_id = event.id;
          take_order(event);
          return !stopped_;
        },
        std::chrono::ceil<std::chrono::milliseconds>(times_.silence));
    if (stopped_) return;
    if (heard) backoff.reset();
    if (!ended) log_info("agent.orders_broken", {{"error", ended.error()}});
    // Without the id, the new stream begins with all orders that are not carried out: none can be missed.
    last_id.clear();
    listen_wake_.wait(backoff.next());
  }
}

void OrderIntake::take_order(const http::Event& event) {
  if (event.name == "drain") return drain();
  const auto data = parse_json_object(event.data, "an order");
  const auto order = data ? read_order(*data) : Result<Order>(fail(data.error()));
  if (!order) {
    log_warning("agent.order_unreadable", {{"event", event.name}, {"error", order.error()}});
  } else if (event.name == "start") {
    if (!draining_) attempts_.take_up(order->key, Standing::kOrdered);
  } else if (event.name == "gathered") {
    attempts_.wake(order->key);
  } else if (event.name == "cancel") {
    attempts_.cancel(order->key, order->cancel);
  } else if (event.name == "fence") {
    attempts_.fence(order->key);
  } else {
    log_warning("agent.order_unknown", {{"event", event.name}});
  }
}

void OrderIntake::drain() {
  if (draining_.exchange(true)) return;
  log_info("agent.draining", {{"node", config_.node}});
  on_change_();
}

}  // namespace slipway::node
