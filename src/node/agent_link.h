// The agent's calls to the server: a pool of kept-alive connections, and the node routes as functions.
//
// Every call is one try with a deadline; who calls decides with `verdict` whether to repeat it. All node
// routes may be repeated: the server answers a repeated message as it did the first one. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"
#include "http/client.h"
#include "protocol/node.h"

namespace slipway::node {

// What an error of a call means for the message that was sent.
enum class Verdict {
  kRepeat,   // the server is away, busy or ill: later
  kStale,    // the attempt has been fenced: end it, say nothing more
  kRefused,  // the server has understood and does not want it
};
Verdict verdict(const Error& error);
// The error for a run's record: what happened, and what to do now.
std::string sentence(const Error& error);

class ServerLink {
 public:
  // `idle_connections`: how many are kept open while nobody uses them.
  ServerLink(NodeId node, std::string url, Secret token, std::string ca_file, size_t idle_connections = 4);
  ~ServerLink();

  // A connection that is this caller's own until the lease ends; then it returns to the pool, unless `broken`
  // was called.
  class Lease {
   public:
    Lease(ServerLink& link, std::unique_ptr<http::Client> client, uint64_t generation, bool pooled);
    Lease(Lease&& other) noexcept = default;
    ~Lease();
    http::Client& operator*() const { return *client_; }
    http::Client* operator->() const { return client_.get(); }
    void broken() { pooled_ = false; }

   private:
    ServerLink* link_;
    std::unique_ptr<http::Client> client_;
    uint64_t generation_;
    bool pooled_;
  };
  Lease borrow();
  // With another token, a run's; closed afterwards.
  Lease borrow_as(const Secret& token);
  // With another deadline; closed afterwards.
  Lease borrow_within(Duration answer_time);

  // One request with the node's token. kUnavailable once `stop` was called.
  Result<http::ClientResponse> send(http::Call call);
  // Sends and reads a JSON object; a status of 400 or more is the Error in its body.
  Result<json::object> post(std::string target, const json::object& body);
  // The same on a connection of the caller's.
  static Result<json::object> post_on(http::Client& client, std::string target, const json::object& body);

  // The server has moved: new connections go there.
  void set_url(const std::string& url);
  std::string url() const;
  const std::string& ca_file() const { return ca_file_; }

  // Ends all calls, those in progress too.
  void stop();
  bool stopped() const;

  std::string node_target(std::string_view rest) const;  // "/api/v1/nodes/n/" + rest
  std::string attempt_target(const AttemptKey& key,
                             std::string_view rest) const;  // ".../attempts/r/1/0/" + rest
  static std::string workspace_target(const WorkspaceName& workspace, std::string_view rest);

 private:
  struct Idle {
    std::unique_ptr<http::Client> client;
    Monotonic since;
  };

  http::ClientOptions options(const Secret& token) const;         // the mutex is held
  Lease lend(std::unique_ptr<http::Client> client, bool pooled);  // the mutex is held
  void take_back(std::unique_ptr<http::Client> client, uint64_t generation, bool pooled);

  const NodeId node_;
  const Secret token_;
  const std::string ca_file_;
  const size_t idle_connections_;

  mutable std::mutex mutex_;
  std::string url_;
  uint64_t generation_ = 0;  // of the address: connections of an earlier one are not kept
  std::vector<Idle> idle_;
  std::set<http::Client*> lent_;
  bool stopped_ = false;
};

}  // namespace slipway::node
