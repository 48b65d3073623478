#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/environments.h"
#include "cli/follow.h"
#include "cli/quantities.h"
#include "cli/table.h"
#include "protocol/job.h"

namespace slipway::cli {
namespace {

constexpr std::string_view kBuildExperiment = "environment-builds";

struct BuildOptions {
  std::string name;
  std::string compute = "local";
  bool fresh = false;
  bool no_wait = false;
};

// A run that does nothing once its environment is there: queue, log and record are those of every run.
Job build_job(const std::string& reference, const std::string& compute) {
  Job job;
  job.experiment = ExperimentName(std::string(kBuildExperiment));
  job.display_name = "build " + reference;
  job.compute = ClusterName(compute);
  job.environment = reference;
  job.command = {"true"};
  return job;
}

Result<int> build_environment(Context& context, const BuildOptions& options) {
  SLIPWAY_TRY(check_name(options.compute, "cluster"));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object environment, session.get(environment_path(session, options.name)));
  const std::string reference = text_at(environment, "reference");
  if (!text_at(environment, "note").empty()) context.console.hint(printable(text_at(environment, "note")));
  if (options.fresh) SLIPWAY_TRY(session.remove(environment_path(session, reference) + "/locks"));
  SLIPWAY_ASSIGN(const json::object run, session.create(session.in_workspace("/runs"),
                                                        to_json(build_job(reference, options.compute))));
  context.console.hint("run " + text_at(run, "id"));
  if (options.no_wait) {
    if (context.console.json()) {
      context.console.print_json(run);
    } else {
      context.console.line(text_at(run, "id"));
    }
    return 0;
  }
  SLIPWAY_ASSIGN(const Followed followed, follow_run(context, session, run, {}));
  return report_end(context, followed);
}

Result<int> list_builds(Context& context) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array builds, session.list("/api/v1/environment-builds", {}, 0));
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(builds)}});
    return 0;
  }
  Table table({{"BUILD"}, {"BUILDER"}, {"PYTHON"}, {"SIZE", Align::kRight}, {"USED"}, {""}});
  for (const json::value& item : builds) {
    const json::object& build = item.as_object();
    const auto used = time_at(build, "used_at");
    table.add({text_at(build, "id").substr(0, 16), text_at(build, "builder"), text_at(build, "python"),
               bytes_text(static_cast<uint64_t>(integer_at(build, "bytes"))),
               used ? relative_time(*used, context.clock.now()) : "-",
               flag_at(build, "in_use") ? "in use" : ""});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  return 0;
}

Result<int> prune_builds(Context& context, ByteCount keep) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(
      const json::object pruned,
      session.change(http::Method::kPost, "/api/v1/environment-builds/prune", {{"keep_bytes", keep.bytes}}));
  if (context.console.json()) {
    context.console.print_json(pruned);
    return 0;
  }
  context.console.line(fmt::format("{} removed, {} freed, {} left",
                                   count_of(static_cast<int64_t>(array_at(pruned, "builds").size()), "build"),
                                   bytes_text(static_cast<uint64_t>(integer_at(pruned, "freed_bytes"))),
                                   bytes_text(static_cast<uint64_t>(integer_at(pruned, "left_bytes")))));
  return 0;
}

}  // namespace

void add_environment_builds(Command env, Context& context) {
  const auto options = std::make_shared<BuildOptions>();
  Command build = env.command("build", "Build an environment now, by a run that does nothing else",
                              "slipway env build tf --fresh");
  build.positional("NAME", options->name, "NAME, NAME:VERSION or curated/NAME", Completes::kEnvironment);
  build.flag("--fresh", options->fresh, "resolve anew: the newest packages that fit, in a new lock");
  build.option("--compute,-c", options->compute, "NAME", "the cluster whose node builds it (local)",
               Completes::kCluster);
  build.flag("--no-wait", options->no_wait, "print the run's id and leave it alone");
  build.action([options, &context] { return build_environment(context, *options); });

  env.command("builds", "List what is built on the server's machine, with its size", "slipway env builds")
      .action([&context] { return list_builds(context); });

  const auto keep = std::make_shared<ByteCount>();
  Command prune = env.command("prune", "Remove builds that no run has, the longest unused first",
                              "slipway env prune --keep 20G");
  prune.option("--keep", *keep, "SIZE", "stop once no more than this is left (0: all that is unused goes)");
  prune.action([keep, &context] { return prune_builds(context, *keep); });
}

}  // namespace slipway::cli
