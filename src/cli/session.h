// A conversation with one server in one workspace, as the options, the environment and the home say.
//
// Nothing is contacted before the first request. Not thread-safe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "cli/context.h"
#include "client/connection.h"
#include "client/requests.h"

namespace slipway::cli {

// The home's server.json: what a running server says about itself.
struct ServerRecord {
  std::string url;         // for this machine
  std::string public_url;  // for others; the same unless the server has TLS
  int64_t pid = 0;
  std::string version;
  std::string auth;
};
// nullopt: no server runs there. One that was killed leaves its record behind.
std::optional<ServerRecord> read_server_record(const std::filesystem::path& home);

using client::Query;

class Session {
 public:
  // The errors of client::find_connection.
  static Result<Session> open(const Context& context);

  const client::Connection& connection() const { return requests_.connection(); }
  const std::string& url() const { return connection().http.url; }
  const std::string& workspace() const { return connection().workspace; }
  client::Requests& requests() { return requests_; }

  // Paths below the workspace: "/runs/digits-x7k2mq9w"; parts that came from outside are already encoded.
  std::string in_workspace(std::string_view path) const { return connection().in_workspace(path); }

  Result<json::object> get(const std::string& target);
  Result<json::object> create(const std::string& target, const json::object& body);
  Result<json::object> change(http::Method method, const std::string& target, const json::object& body);
  Status remove(const std::string& target);
  // The items of a list, page by page, up to `limit` of them (0: all). Every item is an object.
  Result<json::array> list(const std::string& path, Query query, size_t limit);

  // A run by its id, a unique beginning of it, "latest", or "@2": the second newest.
  Result<json::object> find_run(const std::string& name);
  // The path of that run: "/api/v1/workspaces/default/runs/<id>".
  std::string run_path(const json::object& run) const;

  // Adds what to do to errors of the connection.
  Error explained(Error error) const { return connection().explain(std::move(error)); }

 private:
  explicit Session(client::Connection connection) : requests_(std::move(connection)) {}

  client::Requests requests_;
};

}  // namespace slipway::cli
