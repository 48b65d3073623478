#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

#include "cli/answer.h"
#include "cli/follow.h"
#include "cli/quantities.h"
#include "cli/runs.h"
#include "cli/session.h"

namespace slipway::cli {
namespace {

Result<int> wait_for_run(Context& context, const std::string& name, std::optional<Duration> timeout) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object run, session.find_run(name));
  const FollowOptions options{.phases = false, .log = false, .timeout = timeout};
  SLIPWAY_ASSIGN(const Followed followed, follow_run(context, session, run, options));
  return report_end(context, followed);
}

Result<int> cancel_runs(Context& context, const std::vector<std::string>& names, bool wait) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  json::array canceled;
  for (const std::string& name : names) {
    SLIPWAY_ASSIGN(json::object run, session.find_run(name));
    const std::string path = session.run_path(run);
    SLIPWAY_ASSIGN(run, session.change(http::Method::kPost, path + "/cancel", {}));
    if (wait) {
      SLIPWAY_ASSIGN(Followed followed,
                     follow_run(context, session, run, {.phases = false, .log = false, .timeout = {}}));
      run = std::move(followed.run);
    }
    context.console.hint(
        fmt::format("{} {}", text_at(run, "id"), wait ? outcome_text(run) : text_at(run, "state")));
    canceled.push_back(std::move(run));
  }
  if (context.console.json()) context.console.print_json(json::object{{"items", std::move(canceled)}});
  return 0;
}

struct RerunOptions {
  std::string run;
  std::map<std::string, std::string> tags;
  bool follow = false;
};

Result<int> rerun(Context& context, const RerunOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object old, session.find_run(options.run));
  json::object body;
  if (!options.tags.empty()) body["tags"] = to_json(options.tags);
  SLIPWAY_ASSIGN(const json::object run, session.create(session.run_path(old) + "/rerun", body));
  if (!options.follow) {
    if (context.console.json()) {
      context.console.print_json(run);
    } else {
      context.console.line(text_at(run, "id"));
    }
    context.console.hint(
        fmt::format("repeats {}; follow it: slipway run logs -f {}", text_at(old, "id"), text_at(run, "id")));
    return 0;
  }
  context.console.hint(fmt::format("run {} repeats {}", text_at(run, "id"), text_at(old, "id")));
  SLIPWAY_ASSIGN(const Followed followed, follow_run(context, session, run, {}));
  return report_end(context, followed);
}

// On a terminal a person is asked; a script has said what it wants by calling.
bool confirmed(Context& context, const std::string& question) {
  if (!context.console.err_is_terminal() || ::isatty(0) != 1) return true;
  context.console.err(question + " [y/N] ");
  std::array<char, 16> answer{};
  if (std::fgets(answer.data(), answer.size(), stdin) == nullptr) return false;
  return answer[0] == 'y' || answer[0] == 'Y';
}

Result<int> delete_runs(Context& context, const std::vector<std::string>& names, bool yes, bool recursive) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  std::vector<json::object> runs;
  runs.reserve(names.size());
  for (const std::string& name : names) {
    SLIPWAY_ASSIGN(json::object run, session.find_run(name));
    runs.push_back(std::move(run));
  }
  const std::string what = runs.size() == 1 ? "run " + text_at(runs.front(), "id")
                                            : count_of(static_cast<int64_t>(runs.size()), "run");
  if (!yes && !confirmed(context, fmt::format("delete {} with its logs, metrics and files{}?", what,
                                              recursive ? ", and all runs below" : ""))) {
    context.console.hint("nothing was deleted");
    return 1;
  }
  json::array deleted;
  for (const json::object& run : runs) {
    SLIPWAY_TRY(session.remove(session.run_path(run) + (recursive ? "?recursive=true" : "")));
    context.console.hint(fmt::format("{} deleted", text_at(run, "id")));
    deleted.push_back(json::object{{"id", text_at(run, "id")}});
  }
  if (context.console.json()) context.console.print_json(json::object{{"items", std::move(deleted)}});
  return 0;
}

void add_wait(Command run, Context& context) {
  struct Options {
    std::string run;
    std::optional<Duration> timeout;
  };
  const auto options = std::make_shared<Options>();
  Command wait = run.command("wait", "Wait for a run to end, and exit with its script's code",
                             "slipway run wait latest --timeout 2h");
  wait.positional("RUN", options->run, "the run", Completes::kRun);
  wait.option("--timeout", options->timeout, "TIME", "give up after this long, with exit code 13");
  wait.action([options, &context] { return wait_for_run(context, options->run, options->timeout); });
}

void add_cancel(Command run, Context& context) {
  struct Options {
    std::vector<std::string> runs;
    bool wait = false;
  };
  const auto options = std::make_shared<Options>();
  Command cancel = run.command("cancel", "Stop runs: SIGTERM, then SIGKILL after their grace",
                               "slipway run cancel latest --wait");
  cancel.positionals("RUN", options->runs, "the runs", Completes::kRun);
  cancel.flag("--wait,-w", options->wait, "return when they have ended");
  cancel.action([options, &context] { return cancel_runs(context, options->runs, options->wait); });
}

void add_rerun(Command run, Context& context) {
  const auto options = std::make_shared<RerunOptions>();
  Command rerun_command =
      run.command("rerun", "Repeat a run from its recorded source, command and environment",
                  "slipway run rerun latest --follow");
  rerun_command.positional("RUN", options->run, "the run to repeat", Completes::kRun);
  rerun_command.option("--tag,-t", options->tags, "NAME=VALUE", "a tag of the new run; may be repeated");
  rerun_command.flag("--follow,-f", options->follow, "stream until it ends, and exit with the script's code");
  rerun_command.action([options, &context] { return rerun(context, *options); });
}

void add_delete(Command run, Context& context) {
  struct Options {
    std::vector<std::string> runs;
    bool yes = false;
    bool recursive = false;
  };
  const auto options = std::make_shared<Options>();
  Command remove = run.command("delete", "Delete runs that have ended, with their logs, metrics and files",
                               "slipway run delete digits-x7k2mq9w --yes");
  remove.positionals("RUN", options->runs, "the runs", Completes::kRun);
  remove.flag("--yes,-y", options->yes, "do not ask");
  remove.flag("--recursive,-r", options->recursive, "also the runs below them: children, theirs, and so on");
  remove.action(
      [options, &context] { return delete_runs(context, options->runs, options->yes, options->recursive); });
}

}  // namespace

void add_run_changes(Command run, Context& context) {
  add_wait(run, context);
  add_cancel(run, context);
  add_rerun(run, context);
  add_delete(run, context);
}

}  // namespace slipway::cli
