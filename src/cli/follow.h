// Follows a run to its end: its phases and its log as they come.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "cli/context.h"
#include "cli/session.h"

namespace slipway::cli {

constexpr int kExitDetached = 130;  // 128 + SIGINT: Ctrl-C ended the following, not the run

struct FollowOptions {
  bool phases = true;               // say on stderr what the run does
  bool log = true;                  // the job's stdout to stdout, its stderr to stderr, byte for byte
  std::optional<Duration> timeout;  // then kTimeout; the run goes on
};

// What `--follow` and `run wait` exit with, by the run's last state: the script's own code (128 + n after
// signal n); 14 (run_failed) for a run that was canceled or failed without one.
int exit_code_of(const json::object& run);

// The run as it was at its end, or, after Ctrl-C, as it is, with a line on how to go on. The exit code says
// which: 130 after Ctrl-C. Goes on across restarts of the server.
struct Followed {
  json::object run;
  int exit_code = 0;
};
Result<Followed> follow_run(Context& context, Session& session, const json::object& run,
                            const FollowOptions& options);

// Tells the end on stderr, or with --json as the run's object on stdout; gives the exit code.
int report_end(Context& context, const Followed& followed);

// "Completed after 3.2 s", "Failed after 12.0 s with exit code 3: reason"
std::string outcome_text(const json::object& run);
bool is_final(const json::object& run);

}  // namespace slipway::cli
