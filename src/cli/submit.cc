#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "cli/answer.h"
#include "cli/context.h"
#include "cli/data_flags.h"
#include "cli/environments.h"
#include "cli/follow.h"
#include "cli/job_file.h"
#include "cli/quantities.h"
#include "cli/script.h"
#include "cli/session.h"
#include "client/upload.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSkippedShown = 5;

struct SubmitOptions {
  std::string job_file;
  JobFields flags;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> command;
  std::string priority;
  bool no_source = false;
  bool follow = false;
  bool quiet = false;
};

bool lies_below(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

fs::path real_path(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(path, error);
  return error ? path : real;
}

// The folder to send. nullopt: none. What was asked for by name is taken or refused; the current folder,
// which is only the default, is left out when it holds more than a project: the user's home, or Slipway's
// own.
Result<std::optional<fs::path>> source_folder(Context& context, const SubmitOptions& options,
                                              const JobFields& file) {
  if (options.no_source) return std::nullopt;
  const fs::path slipway_home = real_path(context.home());
  std::error_code error;
  const auto holds_home = [&](const fs::path& folder) {
    return fs::exists(slipway_home, error) && lies_below(slipway_home, folder);
  };
  std::optional<fs::path> named;
  if (options.flags.source) {
    named = *options.flags.source;
  } else if (!options.job_file.empty()) {
    named = fs::path(options.job_file).parent_path() / file.source.value_or(".");
  }
  if (named) {
    fs::path folder = real_path(named->empty() ? "." : *named);
    if (!fs::exists(folder, error))
      return fail(ErrorCode::kNotFound, fmt::format("there is no folder '{}'", printable(named->string())),
                  "--source names the folder that holds the script");
    if (!fs::is_directory(folder, error))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is not a folder", printable(named->string())),
                  "--source names the folder that holds the script");
    if (holds_home(folder))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} holds Slipway's own files ({})", folder.string(), slipway_home.string()),
                  "choose a smaller folder with --source");
    return folder;
  }
  fs::path current = real_path(".");
  const char* user_home = std::getenv("HOME");
  if (current != current.root_path() && (user_home == nullptr || current != real_path(user_home)) &&
      !holds_home(current))
    return current;
  return std::nullopt;
}

Status check_script(const fs::path* folder, const snapshot::Manifest* manifest,
                    const std::vector<std::string>& command) {
  const std::optional<std::string> script = script_of(command);
  if (!script) return {};
  const std::string shown = printable(*script, 128);
  if (folder == nullptr)
    return fail(
        ErrorCode::kNotFound,
        fmt::format("'{}' is not there where the run starts: no source folder is sent with it", shown),
        "name the folder that holds it: --source DIR");
  std::error_code error;
  if (script->starts_with("..") || !fs::exists(*folder / *script, error))
    return fail(ErrorCode::kNotFound, fmt::format("there is no '{}' in {}", shown, folder->string()),
                "the run starts in a copy of that folder; name a script that is there, or another folder "
                "with --source");
  if (manifest == nullptr || manifest->find(*script) != nullptr) return {};
  const std::string below = *script + "/";
  if (std::ranges::any_of(manifest->entries(),
                          [&](const snapshot::Entry& entry) { return entry.path.starts_with(below); }))
    return {};
  return fail(ErrorCode::kNotFound,
              fmt::format("'{}' is left out of the snapshot of {}", shown, folder->string()),
              "an ignore file (.slipwayignore, .amlignore or .gitignore) names it, or it is a link");
}

// Progress from several threads; drawn over one line.
class ProgressLine {
 public:
  explicit ProgressLine(Console& console) : console_(console) {}
  ~ProgressLine() { console_.progress(""); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view what, uint64_t done, uint64_t total) {
    const std::lock_guard lock(mutex_);
    console_.progress(fmt::format("{} {} of {}", what, bytes_text(done), bytes_text(total)));
  }

 private:
  Console& console_;
  std::mutex mutex_;
};

Result<client::Source> send_folder(Context& context, Session& session, const fs::path& folder) {
  ProgressLine progress(context.console);
  client::SourceOptions options;
  options.on_hash = [&](const snapshot::HashProgress& at) {
    progress.show("reading", at.bytes_done, at.bytes_total);
  };
  options.on_upload = [&](const client::TransferProgress& at) {
    progress.show("sending", at.bytes_done, at.bytes_total);
  };
  Result<client::Source> source = client::send_source(session.connection(), folder, options);
  if (!source) return fail(session.explained(std::move(source).error()));
  return source;
}

void say_skipped(Context& context, const std::vector<snapshot::SkippedFile>& skipped) {
  if (skipped.empty()) return;
  context.console.hint(fmt::format("{} not sent:", count_of(static_cast<int64_t>(skipped.size()), "file")));
  for (size_t i = 0; i < std::min(skipped.size(), kSkippedShown); ++i)
    context.console.hint(fmt::format("  {}: {}", printable(skipped[i].path), printable(skipped[i].why)));
  if (skipped.size() > kSkippedShown)
    context.console.hint(fmt::format("  and {} more", skipped.size() - kSkippedShown));
}

Result<JobFields> gather(const SubmitOptions& options, JobFields& file) {
  if (!options.job_file.empty()) {
    SLIPWAY_ASSIGN(file, read_job_file(options.job_file));
  }
  JobFields flags = options.flags;
  if (!options.priority.empty()) flags.priority = options.priority;
  for (const std::string& text : options.inputs) {
    SLIPWAY_ASSIGN(auto input, parse_input_flag(text));
    flags.inputs.insert_or_assign(std::move(input.first), std::move(input.second));
  }
  for (const std::string& text : options.outputs) {
    SLIPWAY_ASSIGN(auto output, parse_output_flag(text));
    flags.outputs.insert_or_assign(std::move(output.first), std::move(output.second));
  }
  JobFields fields = overlay(file, std::move(flags));
  if (!options.command.empty()) fields.command = options.command;
  if (!fields.command || fields.command->empty())
    return fail(
        ErrorCode::kInvalidArgument, "there is no command to run",
        "put it after --: slipway submit -- python train.py\nor in a job file: command: python train.py");
  return fields;
}

// An --env that is a file is read before anything is sent, and taken out of the fields.
Result<std::optional<EnvironmentDefinition>> environment_from_file(const SubmitOptions& options,
                                                                   JobFields& fields) {
  if (!fields.environment) return std::nullopt;
  // What a job file names lies beside it.
  const bool beside_file = !options.flags.environment && !options.job_file.empty();
  const fs::path folder = beside_file ? fs::path(options.job_file).parent_path() : fs::path();
  const std::string path = (folder / *fields.environment).string();
  if (!names_definition_file(*fields.environment) && !names_definition_file(path)) return std::nullopt;
  EnvironmentDefinition definition;
  SLIPWAY_TRY(add_file_to_definition(path, definition));
  fields.environment.reset();
  return definition;
}

void say_submitted(Context& context, const json::object& run, bool follow) {
  const std::string id = text_at(run, "id");
  for (const std::string& warning : texts_at(run, "warnings"))
    context.console.hint("warning: " + printable(warning));
  if (follow) {
    context.console.hint("run " + id);
    return;
  }
  if (context.console.json()) {
    context.console.print_json(run);
  } else {
    context.console.line(id);
  }
  context.console.hint(fmt::format("follow it: slipway run logs -f {}", id));
}

Result<int> submit(Context& context, const SubmitOptions& options) {
  JobFields file;
  SLIPWAY_ASSIGN(JobFields fields, gather(options, file));
  SLIPWAY_ASSIGN(const auto definition, environment_from_file(options, fields));
  SLIPWAY_ASSIGN(Job job, to_job(fields));
  SLIPWAY_ASSIGN(const std::optional<fs::path> folder, source_folder(context, options, file));
  SLIPWAY_TRY(check_script(folder ? &*folder : nullptr, nullptr, job.command));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  // Asked before anything is sent: an unknown cluster then leaves nothing behind.
  SLIPWAY_TRY(session.get(session.in_workspace("/compute/" + http::percent_encode(job.compute.str()))));
  if (definition) {
    SLIPWAY_ASSIGN(job.environment, register_anonymous(session, *definition));
  } else if (job.environment != "system") {
    SLIPWAY_TRY(session.get(environment_path(session, job.environment)));
  }
  if (folder) {
    SLIPWAY_ASSIGN(const client::Source source, send_folder(context, session, *folder));
    SLIPWAY_TRY(check_script(&*folder, &source.manifest, job.command));
    job.snapshot = source.manifest.id().hex();
    job.git = source.git;
    if (!options.quiet) say_skipped(context, source.skipped);
  }
  SLIPWAY_ASSIGN(const json::object run, session.create(session.in_workspace("/runs"), to_json(job)));
  say_submitted(context, run, options.follow);
  context.console.flush();
  if (!options.follow) return 0;
  const FollowOptions follow_options{.phases = !options.quiet, .log = true, .timeout = {}};
  SLIPWAY_ASSIGN(const Followed followed, follow_run(context, session, run, follow_options));
  return report_end(context, followed);
}

}  // namespace

void add_submit_command(Command root, Context& context) {
  const auto options = std::make_shared<SubmitOptions>();
  JobFields& flags = options->flags;
  Command command = root.command("submit", "Send a folder and run a command in a copy of it",
                                 "slipway submit --experiment digits --follow -- python train.py --epochs 3");
  command.example("slipway submit job.yaml --var EPOCHS=10 --tag owner=me");
  command.example("slipway submit --input mnist=mount:mnist:2 -- python train.py --data '${inputs.mnist}'");
  command.example("slipway submit --env ./requirements.txt --follow -- python train.py");
  command.example("slipway submit --nodes 2 --processes 2 --launcher pytorch -- python train.py");
  command.example("RUN=$(slipway submit --compute gpu --gpus 1 -- python train.py)");
  command.positional("JOB.YAML", options->job_file, "a job file; options given here win over it",
                     Completes::kFile, false);
  command.option("--source", flags.source, "DIR", "the folder to send (the job file's; else the current one)",
                 Completes::kFolder);
  command.flag("--no-source", options->no_source, "send no folder");
  command.option("--experiment,-e", flags.experiment, "NAME", "the experiment it belongs to (default)",
                 Completes::kExperiment);
  command.option("--name", flags.name, "TEXT", "a name to show");
  command.option("--compute,-c", flags.compute, "NAME", "the cluster to run on (local)", Completes::kCluster);
  command.option("--nodes", flags.nodes, "N", "how many nodes (1)");
  command.option(
      "--launcher", flags.launcher, "KIND",
      "how its processes are started: none, mpi, pytorch or tensorflow[:workers=N,ps=N,chief] (none)");
  command.option("--processes", flags.processes, "N", "how many processes on each node (1)");
  command.choice("--priority", options->priority, {"low", "normal", "high"},
                 "who goes first on the cluster, and who gives way (normal)");
  command.option(
      "--env", flags.environment, "NAME",
      "the environment (system): NAME, NAME:VERSION, curated/NAME, or a file such as ./requirements.txt",
      Completes::kEnvironment);
  command.option("--tag,-t", flags.tags, "NAME=VALUE", "a tag; may be repeated");
  command.option("--var", flags.variables, "NAME=VALUE",
                 "an environment variable of the job; may be repeated");
  command.option("--input,-i", options->inputs, "NAME=[MODE:]DATASET[:VERSION]",
                 "data for the job, in ${inputs.NAME} and $NAME; mount (default), download or direct");
  command.option("--output,-o", options->outputs, "NAME[=[MODE:][DATASTORE:]PATH][,register=DATASET]",
                 "a folder in ${outputs.NAME} and $NAME that is kept in a datastore");
  command.option("--model", flags.models, "NAME[:VERSION]",
                 "a model for the job, in ${models.NAME} and below $SLIPWAY_MODEL_DIR; may be repeated",
                 Completes::kModel);
  command.option("--timeout", flags.timeout, "TIME", "stop it after this long: 90s, 15m, 2h");
  command.option("--grace", flags.grace, "TIME", "between SIGTERM and SIGKILL when it is stopped (10s)");
  command.option("--cpus", flags.cpus, "N", "CPUs on each node (all of one)");
  command.option("--memory", flags.memory, "SIZE",
                 "memory on each node: 4, 4G or 512MiB; a bare number counts GiB");
  command.option("--gpus", flags.gpus, "N", "GPUs on each node (0)");
  command.option("--attempts", flags.attempts, "N", "starts in all when nodes are lost (3)");
  command.option("--restarts", flags.restarts, "N", "the same, counted without the first start (2)");
  command.flag("--follow,-f", options->follow, "stream until it ends, and exit with the script's code");
  command.flag("--quiet,-q", options->quiet, "with --follow: only what the job prints");
  command.trailing("COMMAND...", options->command);
  command.action([options, &context] { return submit(context, *options); });
}

}  // namespace slipway::cli
