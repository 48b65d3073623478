// deploy, and what changes a service.
#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "cli/answer.h"
#include "cli/quantities.h"
#include "cli/services.h"
#include "client/upload.h"

namespace slipway::cli {
namespace {

struct ServiceOptions {
  std::string name;
  std::vector<std::string> models;
  std::string replicas;
  std::string auth;
  std::string entry;
  std::string source;
  std::string environment;
  std::string compute;
  std::optional<double> cpus;
  std::optional<ByteCount> memory;
  std::optional<int> gpus;
  std::optional<int> workers;
  std::optional<Duration> timeout;
  std::optional<int> concurrent;
  std::optional<int> utilization;
  std::optional<Duration> scale_down;
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> tags;
  std::string description;
  bool overwrite = false;
  bool wait = false;
  bool no_wait = false;
};

// "3", or "1..4".
Result<json::object> replicas_of(const std::string& text) {
  const auto number = [](std::string_view digits) -> std::optional<int> {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  const size_t dots = text.find("..");
  const auto min = number(std::string_view(text).substr(0, dots));
  const auto max = dots == std::string::npos ? min : number(std::string_view(text).substr(dots + 2));
  if (!min || !max)
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a number of replicas", text),
                "give a number, or two for a range: 1..4");
  return json::object{{"min", *min}, {"max", *max}};
}

double seconds(Duration time) {
  return static_cast<double>(time.count()) / 1e6;
}

Result<json::object> body_of(const ServiceOptions& options) {
  json::object body;
  if (!options.models.empty()) body["models"] = slipway::to_json(options.models);
  if (!options.replicas.empty()) {
    SLIPWAY_ASSIGN(body["replicas"], replicas_of(options.replicas));
  }
  if (!options.auth.empty()) body["auth"] = options.auth;
  if (!options.entry.empty()) body["entry"] = options.entry;
  if (!options.environment.empty()) body["environment"] = options.environment;
  if (!options.compute.empty()) body["compute"] = options.compute;
  if (options.cpus) body["cpus"] = json_number(*options.cpus);
  if (options.memory) body["memory_bytes"] = options.memory->bytes;
  if (options.gpus) body["gpus"] = *options.gpus;
  if (options.workers) body["workers"] = *options.workers;
  if (options.timeout) body["timeout_seconds"] = json_number(seconds(*options.timeout));
  if (options.concurrent) body["max_concurrent_requests"] = *options.concurrent;
  if (options.utilization) body["target_utilization"] = *options.utilization;
  if (options.scale_down) body["scale_down_seconds"] = json_number(seconds(*options.scale_down));
  if (!options.variables.empty()) body["variables"] = slipway::to_json(options.variables);
  if (!options.tags.empty()) body["tags"] = slipway::to_json(options.tags);
  if (!options.description.empty()) body["description"] = options.description;
  return body;
}

// The script's folder goes to the server as a run's source does.
Status add_source(Session& session, const ServiceOptions& options, json::object& body) {
  if (options.entry.empty() && options.source.empty()) return {};
  const std::string folder = options.source.empty() ? "." : options.source;
  if (!options.entry.empty()) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(std::filesystem::path(folder) / options.entry, error))
      return fail(ErrorCode::kNotFound, fmt::format("there is no '{}' in {}", options.entry, folder),
                  "name the script from the folder it is in: --source DIR --entry score.py");
  }
  Result<client::Source> source = client::send_source(session.connection(), folder, {});
  if (!source) return fail(session.explained(std::move(source).error()));
  body["snapshot"] = source->manifest.id().hex();
  return {};
}

Result<int> finish(Context& context, Session& session, const ServiceOptions& options, json::object service) {
  if (!options.no_wait) {
    SLIPWAY_ASSIGN(service, wait_for_service(context, session, options.name));
  }
  print_service(context, session, service);
  if (options.no_wait)
    context.console.hint(fmt::format("watch it: slipway service show {}", options.name));
  else
    context.console.hint(fmt::format("try it: slipway service test {} --data sample.json", options.name));
  return 0;
}

Result<int> deploy(Context& context, const ServiceOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::object body, body_of(options));
  body["name"] = options.name;
  if (options.overwrite) body["overwrite"] = true;
  SLIPWAY_TRY(add_source(session, options, body));
  SLIPWAY_ASSIGN(json::object service, session.create(session.in_workspace("/services"), body));
  return finish(context, session, options, std::move(service));
}

Result<int> update(Context& context, const ServiceOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::object body, body_of(options));
  SLIPWAY_TRY(add_source(session, options, body));
  if (body.empty())
    return fail(ErrorCode::kInvalidArgument, "nothing to change was given",
                fmt::format("for example: slipway service update {} --model MODEL:4", options.name));
  SLIPWAY_ASSIGN(json::object service,
                 session.change(http::Method::kPatch, service_path(session, options.name), body));
  return finish(context, session, options, std::move(service));
}

Result<int> scale(Context& context, const std::string& name, const std::string& replicas) {
  SLIPWAY_ASSIGN(json::object bounds, replicas_of(replicas));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object service, session.change(http::Method::kPatch, service_path(session, name),
                                                            json::object{{"replicas", std::move(bounds)}}));
  print_service(context, session, service);
  return 0;
}

Result<int> remove(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_TRY(session.remove(service_path(session, name)));
  if (context.console.json()) context.console.print_json(json::object{{"name", name}});
  context.console.hint(fmt::format("service '{}' deleted", name));
  return 0;
}

void add_options(Command command, ServiceOptions& options) {
  command.option("--model", options.models, "MODEL", "NAME or NAME:VERSION; several only with a script");
  command.option("--replicas", options.replicas, "N", "how many, or a range to scale in: 1..4 (1)");
  command.choice("--auth", options.auth, {"key", "token", "none"}, "what clients are asked for (key)");
  command.option("--entry", options.entry, "FILE", "a script with init() and run() that serves",
                 Completes::kFile);
  command.option("--source", options.source, "DIR", "the folder of that script (this one)",
                 Completes::kFolder);
  command.option("--env", options.environment, "NAME", "its environment (as the framework needs)",
                 Completes::kEnvironment);
  command.option("--compute", options.compute, "NAME",
                 "the cluster for its replicas (services, a node of this machine beside local)",
                 Completes::kCluster);
  command.option("--cpu", options.cpus, "N", "share of a node's CPUs for each replica (0.5)");
  command.option("--memory", options.memory, "SIZE",
                 "for each replica (512M for ONNX, 1G or 2G else); a bare number counts GiB");
  command.option("--gpus", options.gpus, "N", "for each replica (0)");
  command.option("--workers", options.workers, "N", "processes of a script or a scikit-learn model (1)");
  command.option("--timeout", options.timeout, "TIME", "of one request (60s)");
  command.option("--max-concurrent", options.concurrent, "N",
                 "requests at once that are much for a replica (10)");
  command.option("--target-utilization", options.utilization, "PERCENT",
                 "of those, what it should have (70)");
  command.option("--scale-down-after", options.scale_down, "TIME", "of less load (60s)");
  command.option("--var", options.variables, "NAME=VALUE", "an environment variable");
  command.option("--tag", options.tags, "KEY=VALUE", "a tag");
  command.option("--description", options.description, "TEXT", "what it is for");
  command.flag("--wait", options.wait, "wait until it serves (so it does without)");
  command.flag("--no-wait", options.no_wait, "do not wait until it serves");
}

}  // namespace

void add_deploy_command(Command root, Context& context) {
  const auto options = std::make_shared<ServiceOptions>();
  Command command = root.command("deploy", "Turn a registered model into a web service",
                                 "slipway deploy digits-svc --model digits:3");
  command.example("slipway deploy digits-svc --model digits --replicas 1..4 --auth key");
  command.example(
      "slipway deploy digits-svc --model digits --entry score.py --source ./service --env score-env");
  command.positional("NAME", options->name, "the service's name");
  add_options(command, *options);
  command.flag("--overwrite", options->overwrite, "change the service if there is one of that name");
  command.action([options, &context] { return deploy(context, *options); });
}

void add_service_changes(Command service, Context& context) {
  const auto options = std::make_shared<ServiceOptions>();
  Command change = service.command("update", "Serve another version, or the same one otherwise",
                                   "slipway service update digits-svc --model digits:4");
  change.positional("NAME", options->name, "the service", Completes::kService);
  add_options(change, *options);
  change.action([options, &context] { return update(context, *options); });

  const auto scaled = std::make_shared<std::pair<std::string, std::string>>();
  Command scaling =
      service.command("scale", "Change the number of replicas", "slipway service scale digits-svc 1..4");
  scaling.positional("NAME", scaled->first, "the service", Completes::kService);
  scaling.positional("REPLICAS", scaled->second, "a number, or a range: 1..4");
  scaling.action([scaled, &context] { return scale(context, scaled->first, scaled->second); });

  const auto name = std::make_shared<std::string>();
  Command removal =
      service.command("delete", "Delete a service; its models stay", "slipway service delete digits-svc");
  removal.positional("NAME", *name, "the service", Completes::kService);
  removal.action([name, &context] { return remove(context, *name); });
}

}  // namespace slipway::cli
