// The Slipway API for C++ programs.
//
//   SLIPWAY_ASSIGN(Connection connection, client::find_connection({}));
//   client::Api api(connection);
//   SLIPWAY_ASSIGN(client::Source source, client::send_source(connection, "."));
//   Job job;
//   job.command = {"python", "train.py"};
//   job.snapshot = source.manifest.id().hex();
//   SLIPWAY_ASSIGN(client::Run run, api.submit(job));
//   SLIPWAY_ASSIGN(run, api.wait(run.id));
//
// Every call may be repeated by the library when an answer is lost; creates carry a key that makes them
// happen once. Answers keep the server's own JSON shape (docs: api/openapi.yaml); where a program decides by
// them there is a struct. Not thread-safe; one for each thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "client/connection.h"
#include "client/requests.h"
#include "client/streams.h"
#include "protocol/environment.h"
#include "protocol/job.h"

namespace slipway::client {

// A run as programs look at it; `document` is all of it.
struct Run {
  RunId id;
  std::string experiment;
  std::string state;
  std::string phase;
  std::string reason;
  int attempt = 0;
  std::optional<int> exit_code;
  json::object document;

  bool ended() const;      // Completed, Failed or Canceled
  bool completed() const;  // and well
};

Result<Run> run_from_json(json::object document);

struct RunFilter {
  std::string experiment;
  std::string state;
  std::string tag;  // "key=value"
};

struct TokenRequest {
  std::string name;
  std::string role = "contributor";  // reader, contributor, owner, admin
  std::string workspace;             // empty: all
  int64_t expires_seconds = 0;       // 0: never
};

// Which log of a run; zero values are the newest attempt and the first node.
struct LogName {
  std::string name = "std_log.txt";
  int attempt = 0;
  int rank = 0;
  std::string channel;  // "stdout" or "stderr" alone; empty: both
};

class Api {
 public:
  explicit Api(Connection connection, RetryPolicy policy = {});

  // The server
  Result<json::object> server();
  Result<json::object> status();
  // kConflict while runs are active, unless they are to be canceled or left to their nodes.
  Status shutdown(bool cancel_runs, bool leave_runs);

  // Workspaces, experiments, tokens
  Result<json::array> workspaces();
  Result<json::object> workspace(std::string_view name);
  Result<json::object> create_workspace(std::string_view name, std::string_view description = "");
  Status delete_workspace(std::string_view name);
  Result<json::array> experiments();
  Result<json::object> experiment(std::string_view name);
  Result<json::array> tokens();
  Result<json::object> create_token(const TokenRequest& request);  // "token" is in this answer alone
  Status delete_token(std::string_view id);

  // Runs; an id may be a unique beginning of one
  Result<Run> submit(const Job& job);
  Result<Run> run(std::string_view id);
  Result<std::vector<Run>> runs(const RunFilter& filter = {}, size_t limit = 0);
  Result<Page> runs_page(const RunFilter& filter, size_t limit, const std::string& cursor);
  Result<Run> cancel(std::string_view id);
  Result<Run> rerun(std::string_view id, const json::object& changes = {});
  Result<Run> update_run(std::string_view id, const json::object& changes);
  Status delete_run(std::string_view id);
  Result<json::object> diff(std::string_view from, std::string_view to);
  // Until it has ended, across restarts of the server; `on_event` (may be empty) sees each RunEvent.
  Result<Run> wait(std::string_view id, const std::function<void(const json::object&)>& on_event = {});

  // What a run leaves
  Result<json::array> events(std::string_view id, int64_t after = 0);
  Result<json::array> logs(std::string_view id, int attempt = 0);
  Status read_log(std::string_view id, const LogName& log, const http::BodySink& sink);
  // Until the run has ended and all was given, or `on_piece` returns false.
  Status follow_log(std::string_view id, const LogName& log, uint64_t offset,
                    const std::function<bool(const LogPiece&)>& on_piece);
  Result<json::array> metrics(std::string_view id);
  Result<json::array> metric_points(std::string_view id, std::string_view name);
  Status log_metrics(std::string_view id, const json::array& points);
  Result<json::array> files(std::string_view id, std::string_view prefix = "");
  Result<json::array> resources(std::string_view id);

  // Environments; a reference is NAME, NAME:VERSION or curated/NAME
  Result<json::array> environments();
  Result<json::object> environment(std::string_view reference);
  Result<json::array> environment_versions(std::string_view name);
  Result<json::array> environment_locks(std::string_view reference);
  // Without a name it is anonymous; the same definition again is the same version.
  Result<json::object> create_environment(const EnvironmentDefinition& definition,
                                          std::string_view name = "");
  Result<json::object> diff_environments(std::string_view from, std::string_view to);
  Status delete_environment(std::string_view reference);

  // Compute
  Result<json::array> clusters();
  Result<json::object> cluster(std::string_view name);
  Result<json::object> create_cluster(const json::object& cluster);
  Result<json::object> update_cluster(std::string_view name, const json::object& changes);
  Status delete_cluster(std::string_view name);
  Result<json::array> nodes(std::string_view cluster);

  // Below the three: for what has no call of its own.
  Requests& requests() { return requests_; }
  const Connection& connection() const { return requests_.connection(); }
  std::string run_path(std::string_view id, std::string_view below = "") const;

 private:
  std::string path(std::string_view collection, std::string_view name) const;

  Requests requests_;
};

}  // namespace slipway::client
