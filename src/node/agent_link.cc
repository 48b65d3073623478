#include "node/agent_link.h"

#include <fmt/format.h>

#include "http/router.h"

namespace slipway::node {

// The server closes a connection that is idle for 75 s; one that is older than this may be half closed
// already.
constexpr std::chrono::seconds kKeepIdle{30};

Verdict verdict(const Error& error) {
  switch (error.code) {
    case ErrorCode::kStale: return Verdict::kStale;
    case ErrorCode::kUnreachable:
    case ErrorCode::kTimeout:
    case ErrorCode::kUnavailable:
    case ErrorCode::kExhausted:
    case ErrorCode::kStorageFull:
    case ErrorCode::kInternal:
    // The node's own standing is in doubt, not this message: heartbeats settle it, and no job suffers
    // meanwhile.
    case ErrorCode::kUnauthenticated:
    case ErrorCode::kNotFound: return Verdict::kRepeat;
    default: return Verdict::kRefused;
  }
}

std::string sentence(const Error& error) {
  return error.next.empty() ? error.message : fmt::format("{}; {}", error.message, error.next);
}

ServerLink::ServerLink(NodeId node, std::string url, Secret token, std::string ca_file,
                       size_t idle_connections)
    : node_(std::move(node)),
      token_(std::move(token)),
      ca_file_(std::move(ca_file)),
      idle_connections_(idle_connections),
      url_(std::move(url)) {}

ServerLink::~ServerLink() = default;

ServerLink::Lease::Lease(ServerLink& link, std::unique_ptr<http::Client> client, uint64_t generation,
                         bool pooled)
    : link_(&link), client_(std::move(client)), generation_(generation), pooled_(pooled) {}

ServerLink::Lease::~Lease() {
  if (client_ != nullptr) link_->take_back(std::move(client_), generation_, pooled_);
}

http::ClientOptions ServerLink::options(const Secret& token) const {
  http::ClientOptions options;
  options.url = url_;
  options.token = token;
  options.ca_file = ca_file_;
  return options;
}

ServerLink::Lease ServerLink::lend(std::unique_ptr<http::Client> client, bool pooled) {
  lent_.insert(client.get());
  if (stopped_) client->interrupt();  // ends its next call
  return Lease(*this, std::move(client), generation_, pooled);
}

ServerLink::Lease ServerLink::borrow() {
  std::vector<Idle> too_old;  // closed outside the lock
  const std::lock_guard lock(mutex_);
  const Monotonic now = std::chrono::steady_clock::now();
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (now - last.since < kKeepIdle) return lend(std::move(last.client), true);
    too_old.push_back(std::move(last));
  }
  return lend(std::make_unique<http::Client>(options(token_)), true);
}

ServerLink::Lease ServerLink::borrow_as(const Secret& token) {
  const std::lock_guard lock(mutex_);
  return lend(std::make_unique<http::Client>(options(token)), false);
}

ServerLink::Lease ServerLink::borrow_within(Duration answer_time) {
  const std::lock_guard lock(mutex_);
  http::ClientOptions hurried = options(token_);
  hurried.answer_time = std::chrono::ceil<std::chrono::milliseconds>(answer_time);
  return lend(std::make_unique<http::Client>(std::move(hurried)), false);
}

void ServerLink::take_back(std::unique_ptr<http::Client> client, uint64_t generation, bool pooled) {
  const std::lock_guard lock(mutex_);
  lent_.erase(client.get());
  if (!pooled || stopped_ || generation != generation_ || idle_.size() >= idle_connections_) return;
  idle_.push_back({std::move(client), std::chrono::steady_clock::now()});
}

Result<http::ClientResponse> ServerLink::send(http::Call call) {
  if (stopped()) return fail(ErrorCode::kUnavailable, "the agent is stopping");
  Lease lease = borrow();
  auto answer = lease->send(std::move(call));
  if (!answer) lease.broken();
  return answer;
}

Result<json::object> ServerLink::post(std::string target, const json::object& body) {
  if (stopped()) return fail(ErrorCode::kUnavailable, "the agent is stopping");
  Lease lease = borrow();
  auto answer = post_on(*lease, std::move(target), body);
  if (!answer && verdict(answer.error()) == Verdict::kRepeat) lease.broken();
  return answer;
}

Result<json::object> ServerLink::post_on(http::Client& client, std::string target, const json::object& body) {
  http::Call call;
  call.method = http::Method::kPost;
  call.target = std::move(target);
  call.body = json::serialize(body);
  SLIPWAY_ASSIGN(const http::ClientResponse answer, client.call(std::move(call)));
  if (answer.body.empty()) return json::object();
  return parse_json_object(answer.body, "the server's answer");
}

void ServerLink::set_url(const std::string& url) {
  std::vector<Idle> closed;
  const std::lock_guard lock(mutex_);
  if (url == url_) return;
  url_ = url;
  ++generation_;
  closed.swap(idle_);
}

std::string ServerLink::url() const {
  const std::lock_guard lock(mutex_);
  return url_;
}

void ServerLink::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (http::Client* client : lent_) client->interrupt();
}

bool ServerLink::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

std::string ServerLink::node_target(std::string_view rest) const {
  return fmt::format("/api/v1/nodes/{}/{}", http::percent_encode(node_.str()), rest);
}

std::string ServerLink::attempt_target(const AttemptKey& key, std::string_view rest) const {
  return node_target(
      fmt::format("attempts/{}/{}/{}/{}", http::percent_encode(key.run.str()), key.attempt, key.rank, rest));
}

std::string ServerLink::workspace_target(const WorkspaceName& workspace, std::string_view rest) {
  return fmt::format("/api/v1/workspaces/{}/{}", http::percent_encode(workspace.str()), rest);
}

}  // namespace slipway::node
