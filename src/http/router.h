// The table of routes and the look-up in it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace slipway::http {

enum class BodyMode { kBuffered, kStreamed };

using Handler = std::function<Result<Response>(const Request&)>;

// One of the server's I/O threads, as a deferred handler sees it.
class Turn {
 public:
  virtual ~Turn() = default;
  // Which of them, from 0.
  virtual size_t index() const = 0;
  // Runs `work` on this thread once the requests that have come together with this one have reached their
  // handlers. To be called on this thread; `work` must not throw.
  virtual void at_end(std::move_only_function<void()> work) = 0;
};

// To be called exactly once, from any thread; whether the peer is still there does not matter.
using Answer = std::move_only_function<void(Result<Response>)>;

// Runs on the connection's I/O thread instead of a worker and must neither block nor throw; so does the
// Authoriser for its routes. The request is its own until it answers.
using DeferredHandler = std::function<void(Request&, Turn&, Answer)>;

// One row: `{Method::kGet, "/api/v1/workspaces/{workspace}/runs/{run}", Access::kReader, show_run}`. A
// parameter fills one segment; a last one written {path...} takes the rest of the path, slashes included.
struct Route {
  Route(Method method, std::string pattern, Access access, Handler handler,
        BodyMode body = BodyMode::kBuffered, uint64_t body_limit = 4 << 20)
      : method(method),
        pattern(std::move(pattern)),
        access(access),
        handler(std::move(handler)),
        body(body),
        body_limit(body_limit) {}
  Route(Method method, std::string pattern, Access access, DeferredHandler deferred,
        uint64_t body_limit = 4 << 20)
      : method(method),
        pattern(std::move(pattern)),
        access(access),
        deferred(std::move(deferred)),
        body(BodyMode::kBuffered),
        body_limit(body_limit) {}

  Method method;
  std::string pattern;
  Access access;
  Handler handler;           // this one
  DeferredHandler deferred;  // or this one
  BodyMode body;
  uint64_t body_limit;  // bytes; beyond it 413
};

struct Match {
  const Route* route = nullptr;
  std::map<std::string, std::string> params;
};

// Immutable once the server runs. Literal segments win over parameters.
class Router {
 public:
  // Aborts on two routes with the same method and shape: a defect of the program.
  void add(Route route);
  void add(std::vector<Route> routes);

  // kNotFound for an unknown path, kInvalidArgument for bad percent-encoding or a NUL; a known path with
  // another method is kUnsupported and `allowed` lists what it takes. HEAD finds the GET route.
  Result<Match> find(Method method, std::string_view path, std::vector<Method>* allowed = nullptr) const;
  // What the path takes; empty for an unknown one.
  std::vector<Method> methods_at(std::string_view path) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  // The patterns as a tree of segments, by index, so that a look-up costs the depth of the path and not the
  // number of routes.
  struct Node {
    std::map<std::string, size_t, std::less<>> literals;
    size_t parameter = 0;      // the node behind {name}; 0: none, the root is never behind anything
    std::vector<size_t> here;  // routes whose pattern ends here
    std::vector<size_t> rest;  // routes whose pattern ends here with {name...}
  };
  struct Found {
    const std::vector<size_t>* routes = nullptr;
    size_t rest_from = 0;  // for a {name...}: the segment it starts at
  };

  Found walk(size_t node, const std::vector<std::string>& segments, size_t depth) const;
  Match match_of(const Route& route, const Found& found, const std::vector<std::string>& segments) const;

  std::vector<Route> routes_;
  std::vector<Node> nodes_{1};
};

// Decodes once; fails on "%zz", "%00" and a cut-off escape.
Result<std::string> percent_decode(std::string_view text, bool plus_is_blank);
std::string percent_encode(std::string_view text);
Result<std::map<std::string, std::string>> parse_query(std::string_view query);

}  // namespace slipway::http
