#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/follow.h"
#include "cli/local_files.h"
#include "cli/models.h"
#include "cli/quantities.h"
#include "protocol/model.h"

namespace slipway::cli {
namespace {

struct RegisterOptions {
  std::string name;
  std::string run;
  std::string path;
  std::string local;
  ModelFacts facts;
  std::map<std::string, std::string> datasets;
  bool no_trial = false;
  bool no_wait = false;
};

Status check_options(const RegisterOptions& options) {
  SLIPWAY_TRY(check_model_name(options.name));
  if (options.local.empty() && options.run.empty())
    return fail(ErrorCode::kInvalidArgument, "there is nothing to register",
                "name a run and its files: --run latest --path outputs/model\nor a folder here: --local DIR");
  if (!options.local.empty() && !options.path.empty())
    return fail(ErrorCode::kInvalidArgument, "--local and --path cannot be combined",
                "--path names files that a run has kept, --local files of this machine");
  if (options.local.empty() && options.path.empty())
    return fail(
        ErrorCode::kInvalidArgument, "--run alone does not say which of its files are the model",
        fmt::format("add --path outputs/model; slipway run files {} shows them", printable(options.run, 96)));
  return {};
}

// The digest of the uploaded files.
Result<std::string> send_files(Context& context, Session& session, const std::string& local) {
  SLIPWAY_ASSIGN(const LocalFiles files, read_local_files(context, local, PathsBegin::kAtName));
  SLIPWAY_TRY(send_local_files(context, session, files));
  return files.files.id().hex();
}

// Waits for the trial load, where one is under way, and prints the version with what came of it.
Result<int> finish(Context& context, Session& session, json::object model, bool wait) {
  const json::object trial = object_at(model, "trial");
  const std::string id = text_at(model, "id");
  if (wait && text_at(trial, "state") == "running" && !text_at(trial, "run").empty()) {
    SLIPWAY_ASSIGN(const json::object run, session.find_run(text_at(trial, "run")));
    FollowOptions following;
    following.log = false;
    following.phases = !context.console.json();
    SLIPWAY_ASSIGN(const Followed followed, follow_run(context, session, run, following));
    SLIPWAY_ASSIGN(model, session.get(model_path(session, id)));
    if (followed.exit_code == kExitDetached) {
      print_model(context, model);
      return kExitDetached;
    }
  }
  print_model(context, model);
  if (text_at(object_at(model, "trial"), "state") == "running")
    context.console.hint(fmt::format("the trial load goes on: slipway model show {}", id));
  return 0;
}

Result<int> register_model(Context& context, const RegisterOptions& options) {
  SLIPWAY_TRY(check_options(options));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::object body, facts_body(context, session, options.facts));
  body["name"] = options.name;
  if (options.no_trial) body["trial"] = false;
  if (!options.datasets.empty()) body["datasets"] = to_json(options.datasets);
  if (!options.run.empty()) {
    SLIPWAY_ASSIGN(const json::object run, session.find_run(options.run));
    body["run"] = text_at(run, "id");
  }
  if (options.local.empty()) {
    body["path"] = options.path;
  } else {
    SLIPWAY_ASSIGN(body["snapshot"], send_files(context, session, options.local));
  }
  SLIPWAY_ASSIGN(json::object model, session.create(session.in_workspace("/models"), body));
  context.console.hint(fmt::format("registered {}", text_at(model, "id")));
  return finish(context, session, std::move(model), !options.no_wait);
}

Result<int> try_model(Context& context, const std::string& name, bool wait) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::object model, session.create(model_path(session, name) + "/trial", {}));
  return finish(context, session, std::move(model), wait);
}

}  // namespace

void add_model_register(Command model, Context& context) {
  const auto options = std::make_shared<RegisterOptions>();
  Command command =
      model.command("register", "Register what a run has kept, or a folder of this machine, as a new version",
                    "slipway model register digits --run latest --path outputs/model --framework tensorflow");
  command.example("slipway model register digits --local ./digits.onnx --framework onnx --memory 0.5");
  command.positional("NAME", options->name, "its name; each registration makes the next version",
                     Completes::kModel);
  command.option("--run,-r", options->run, "RUN", "the run it comes from", Completes::kRun);
  command.option("--path,-p", options->path, "PATH", "of the run's files: a file or a folder");
  command.option("--local", options->local, "DIR", "a folder or a file of this machine", Completes::kFile);
  add_model_facts(command, options->facts);
  command.option("--dataset", options->datasets, "ROLE=NAME[:VERSION]",
                 "a dataset it was made from, beside the run's own inputs; may be repeated");
  command.flag("--no-trial", options->no_trial, "do not find out whether it serves");
  command.flag("--no-wait", options->no_wait, "do not wait for the trial load");
  command.action([options, &context] { return register_model(context, *options); });

  struct TrialOptions {
    std::string model;
    bool no_wait = false;
  };
  const auto tried = std::make_shared<TrialOptions>();
  Command trial = model.command("trial", "Load a version once more and ask it, to see whether it serves",
                                "slipway model trial digits:3");
  trial.positional("NAME[:VERSION]", tried->model, "the model; without a version the newest",
                   Completes::kModel);
  trial.flag("--no-wait", tried->no_wait, "do not wait for the trial load");
  trial.action([tried, &context] { return try_model(context, tried->model, !tried->no_wait); });
}

}  // namespace slipway::cli
