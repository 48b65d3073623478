#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/compute_attach.h"
#include "cli/quantities.h"
#include "cli/session.h"
#include "cli/table.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

struct ClusterOptions {
  std::string name;
  std::optional<int> min, max;
  std::optional<Duration> idle;
  std::optional<double> cpus;
  std::optional<ByteCount> memory;
  std::optional<int> gpus;
  std::string priority;
  SlurmOptions slurm;  // for an update
};

json::object to_json(const ClusterOptions& options) {
  json::object body;
  if (options.min) body["min_nodes"] = *options.min;
  if (options.max) body["max_nodes"] = *options.max;
  if (options.idle) body["idle_seconds"] = json_number(static_cast<double>(options.idle->count()) / 1e6);
  if (options.cpus) body["cpus"] = json_number(*options.cpus);
  if (options.memory) body["memory_bytes"] = options.memory->bytes;
  if (options.gpus) body["gpus"] = *options.gpus;
  if (!options.priority.empty()) body["priority"] = options.priority;
  return body;
}

std::string cluster_path(const Session& session, const std::string& name) {
  return session.in_workspace("/compute/" + http::percent_encode(name));
}

std::string nodes_text(const json::object& nodes) {
  std::string text;
  for (const char* state : {"busy", "idle", "starting", "draining"}) {
    const int64_t count = integer_at(nodes, state);
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, state);
  }
  return text.empty() ? "none" : text;
}

std::string memory_text(const json::object& object) {
  const int64_t bytes = integer_at(object, "memory_bytes");
  return bytes > 0 ? bytes_text(static_cast<uint64_t>(bytes)) : "-";
}

std::string seconds_text(const json::object& object, std::string_view name) {
  return to_text(Duration(static_cast<int64_t>(number_at(object, name).value_or(0) * 1e6)));
}

std::string number_text(const json::object& object, std::string_view name) {
  return fmt::format("{:g}", number_at(object, name).value_or(0));
}

Result<int> list_clusters(Context& context) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array clusters, session.list(session.in_workspace("/compute"), {}, 0));
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(clusters)}});
    return 0;
  }
  Table table({{"CLUSTER"},
               {"LIMITS"},
               {"NODES"},
               {"WAITING", Align::kRight},
               {"CPUS", Align::kRight},
               {"MEMORY", Align::kRight},
               {"GPUS", Align::kRight},
               {"IDLE", Align::kRight},
               {"PRIORITY"}});
  for (const json::value& item : clusters) {
    const json::object& cluster = item.as_object();
    table.add({text_at(cluster, "name"),
               fmt::format("{} to {}", integer_at(cluster, "min_nodes"), integer_at(cluster, "max_nodes")),
               nodes_text(object_at(cluster, "nodes")), std::to_string(integer_at(cluster, "queued_runs")),
               number_text(cluster, "cpus"), memory_text(cluster),
               std::to_string(integer_at(cluster, "gpus")), seconds_text(cluster, "idle_seconds"),
               text_at(cluster, "priority")});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  return 0;
}

void print_cluster(Context& context, const json::object& cluster) {
  if (context.console.json()) {
    context.console.print_json(cluster);
    return;
  }
  Facts facts;
  facts.add("cluster", text_at(cluster, "name"), Colour::kBold);
  for (const auto& [name, text] : engine_facts(cluster)) facts.add(name, text);
  facts.add("nodes", fmt::format("{} (from {} to {})", nodes_text(object_at(cluster, "nodes")),
                                 integer_at(cluster, "min_nodes"), integer_at(cluster, "max_nodes")));
  const double cpus = number_at(cluster, "cpus").value_or(0);
  facts.add("each with", fmt::format("{:g} {}, {} memory, {}", cpus, cpus == 1 ? "CPU" : "CPUs",
                                     memory_text(cluster), count_of(integer_at(cluster, "gpus"), "GPU")));
  if (text_at(cluster, "engine") == "local")
    facts.add("stopped after", seconds_text(cluster, "idle_seconds") + " idle");
  facts.add("priority", text_at(cluster, "priority"));
  facts.add("waiting", count_of(integer_at(cluster, "queued_runs"), "run"));
  if (const auto created = time_at(cluster, "created_at"))
    facts.add("created", relative_time(*created, context.clock.now()));
  for (const std::string& warning : texts_at(cluster, "warnings"))
    facts.add("warning", warning, Colour::kYellow);
  const json::object& status = object_at(cluster, "engine_status");
  if (const std::string problem = text_at(status, "problem"); !problem.empty()) {
    facts.add("problem", problem, Colour::kRed);
    facts.add("", text_at(status, "next"));
  }
  context.console.out(facts.render(context.console.colour_out()));
}

Result<int> create_cluster(Context& context, const ClusterOptions& options) {
  SLIPWAY_TRY(check_name(options.name, "cluster"));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  json::object body = to_json(options);
  body["name"] = options.name;
  SLIPWAY_ASSIGN(const json::object cluster, session.create(session.in_workspace("/compute"), body));
  print_cluster(context, cluster);
  context.console.hint(fmt::format("use it: slipway submit --compute {} -- python train.py", options.name));
  return 0;
}

Result<int> update_cluster(Context& context, const ClusterOptions& options) {
  SLIPWAY_TRY(check_name(options.name, "cluster"));
  json::object body = to_json(options);
  SLIPWAY_TRY(add_slurm_fields(options.slurm, false, body));
  if (body.empty())
    return fail(ErrorCode::kInvalidArgument, "nothing to change was given",
                fmt::format("for example: slipway compute update {} --max 8", options.name));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object cluster,
                 session.change(http::Method::kPatch, cluster_path(session, options.name), body));
  print_cluster(context, cluster);
  return 0;
}

Result<int> show_cluster(Context& context, const std::string& name) {
  SLIPWAY_TRY(check_name(name, "cluster"));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object cluster, session.get(cluster_path(session, name)));
  print_cluster(context, cluster);
  return 0;
}

Result<int> list_nodes(Context& context, const std::string& name) {
  SLIPWAY_TRY(check_name(name, "cluster"));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array nodes, session.list(cluster_path(session, name) + "/nodes", {}, 0));
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(nodes)}});
    return 0;
  }
  if (nodes.empty()) {
    context.console.hint(fmt::format("cluster '{}' has no nodes now; they are started when runs wait", name));
    return 0;
  }
  const Timestamp now = context.clock.now();
  Table table({{"NODE"},
               {"STATE"},
               {"CPUS FREE", Align::kRight},
               {"MEMORY FREE", Align::kRight},
               {"GPUS FREE", Align::kRight},
               {"SEEN"},
               {"PID", Align::kRight},
               {"RUNS", Align::kLeft, 12}});
  for (const json::value& item : nodes) {
    const json::object& node = item.as_object();
    const json::object& free = object_at(node, "free");
    const std::string state = text_at(node, "state");
    const auto seen = time_at(node, "last_seen_at");
    table.add({text_at(node, "id"), Cell(state, state == "lost" ? Colour::kRed : Colour::kNone),
               fmt::format("{} of {}", number_text(free, "cpus"), number_text(node, "cpus")),
               fmt::format("{} of {}", memory_text(free), memory_text(node)),
               fmt::format("{} of {}", integer_at(free, "gpus"), integer_at(node, "gpus")),
               seen ? relative_time(*seen, now) : "-", std::to_string(integer_at(node, "pid")),
               fmt::format("{}", fmt::join(texts_at(node, "runs"), " "))});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  return 0;
}

Result<int> remove_node(Context& context, const std::string& cluster, const std::string& node) {
  SLIPWAY_TRY(check_name(cluster, "cluster"));
  SLIPWAY_TRY(check_name(node, "node", 128));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_TRY(session.remove(cluster_path(session, cluster) + "/nodes/" + http::percent_encode(node)));
  if (context.console.json()) context.console.print_json(json::object{{"node", node}});
  context.console.hint(fmt::format("node '{}' takes no more runs; it is gone when the last has ended", node));
  return 0;
}

Result<int> delete_cluster(Context& context, const std::string& name) {
  SLIPWAY_TRY(check_name(name, "cluster"));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_TRY(session.remove(cluster_path(session, name)));
  if (context.console.json()) context.console.print_json(json::object{{"name", name}});
  context.console.hint(fmt::format("cluster '{}' deleted", name));
  return 0;
}

void add_size_options(Command command, ClusterOptions& options) {
  command.option("--min", options.min, "N", "nodes that are always up (0)");
  command.option("--max", options.max, "N", "nodes at most (1); 0: only machines that join");
  command.option("--idle", options.idle, "TIME", "a node idle for this long is stopped (120s)");
  command.option("--cpus", options.cpus, "N", "CPUs of a node (all of this machine's)");
  command.option("--memory", options.memory, "SIZE",
                 "memory of a node: 4, 4G or 512MiB; a bare number counts GiB");
  command.option("--gpus", options.gpus, "N", "GPUs of a node (0)");
  command.choice("--priority", options.priority, {"dedicated", "low"}, "low: its runs give way to others");
}

}  // namespace

void add_compute_commands(Command root, Context& context) {
  Command compute =
      root.command("compute", "Create and look at elastic clusters of nodes", "slipway compute");
  compute.action([&context] { return list_clusters(context); });

  const auto create_options = std::make_shared<ClusterOptions>();
  Command create = compute.command("create", "Create a cluster",
                                   "slipway compute create cpu-cluster --min 0 --max 4 --idle 120s");
  create.example("slipway compute create gpu --max 2 --cpus 4 --memory 16G --gpus 1 --priority low");
  create.positional("NAME", create_options->name, "the cluster's name");
  add_size_options(create, *create_options);
  create.action([create_options, &context] { return create_cluster(context, *create_options); });

  add_compute_attach(compute, context);

  compute.command("list", "List the clusters", "slipway compute list").action([&context] {
    return list_clusters(context);
  });

  const auto add_named = [&](const char* name, const char* about, const char* example,
                             Result<int> (*act)(Context&, const std::string&)) {
    const auto cluster = std::make_shared<std::string>();
    Command command = compute.command(name, about, example);
    command.positional("NAME", *cluster, "the cluster", Completes::kCluster);
    command.action([cluster, act, &context] { return act(context, *cluster); });
  };
  add_named("show", "Show a cluster", "slipway compute show local", show_cluster);
  add_named("nodes", "List the nodes of a cluster and what runs on them", "slipway compute nodes local",
            list_nodes);

  const auto update_options = std::make_shared<ClusterOptions>();
  Command update = compute.command("update", "Change the limits or the size of a cluster",
                                   "slipway compute update cpu-cluster --max 8");
  update.positional("NAME", update_options->name, "the cluster", Completes::kCluster);
  add_size_options(update, *update_options);
  add_slurm_options(update, update_options->slurm);
  update.action([update_options, &context] { return update_cluster(context, *update_options); });

  const auto leaving = std::make_shared<std::pair<std::string, std::string>>();
  Command leave = compute.command("remove-node", "Let a machine go that has joined a cluster",
                                  "slipway compute remove-node own own-3f9a2k");
  leave.positional("CLUSTER", leaving->first, "the cluster", Completes::kCluster);
  leave.positional("NODE", leaving->second, "the node");
  leave.action([leaving, &context] { return remove_node(context, leaving->first, leaving->second); });

  add_named("delete", "Delete a cluster", "slipway compute delete cpu-cluster", delete_cluster);
}

}  // namespace slipway::cli
