// Requests that may be repeated: every call of the Slipway API can be sent twice without harm, because
// creates carry an Idempotency-Key and everything else says how things shall be. So a lost answer, a server
// that restarts and a full queue are waited out here, within bounds.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "client/connection.h"
#include "http/client.h"

namespace slipway::client {

struct RetryPolicy {
  int tries = 6;
  std::chrono::milliseconds first_wait{100};  // doubled each time
  std::chrono::milliseconds longest_wait{2000};

  // 0 for the wait after the first failure.
  std::chrono::milliseconds wait_after(int failures) const;
};

using Query = std::map<std::string, std::string>;
// "?a=1&b=2", encoded; fields without a value are left out.
std::string to_text(const Query& query);

// One page of a list.
struct Page {
  json::array items;
  std::string next_cursor;  // empty: the last page
};

// Not thread-safe; one for each thread.
class Requests {
 public:
  explicit Requests(Connection connection, RetryPolicy policy = {});

  // Answers of 400 and more are errors. A server that does not answer at all is reported at once; one that
  // goes away in the middle is asked again. An empty answer is an empty object.
  Result<json::object> call(http::Method method, const std::string& target,
                            const json::object* body = nullptr);
  Result<json::object> get(const std::string& target) { return call(http::Method::kGet, target); }
  // With an Idempotency-Key: repeated, it creates once.
  Result<json::object> create(const std::string& target, const json::object& body);
  // One that is gone when a lost answer made us ask again was removed by us.
  Status remove(const std::string& target);
  // Any call whose body is at hand (no source, no sink), repeated as above.
  Result<http::ClientResponse> send(const http::Call& call);

  Result<Page> page(const std::string& path, const Query& query);
  // All pages, up to `limit` items (0: no limit).
  Result<json::array> list(const std::string& path, Query query = {}, size_t limit = 0);

  // One try of a call that streams; the caller knows how to go on after a failure.
  Result<http::ClientResponse> stream(http::Call call);
  // True when the failure is worth another try after a wait, which this does. `failures` counts them for the
  // caller.
  bool wait_to_repeat(const Error& error, int& failures);

  http::Client& http() { return client_; }
  const Connection& connection() const { return connection_; }

 private:
  template <class Try>
  auto repeat(const Try& attempt) -> decltype(attempt(0));

  Connection connection_;
  RetryPolicy policy_;
  http::Client client_;
};

}  // namespace slipway::client
