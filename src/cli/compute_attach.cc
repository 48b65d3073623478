#include "cli/compute_attach.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/file.h"
#include "cli/answer.h"
#include "cli/quantities.h"
#include "cli/session.h"

namespace slipway::cli {
namespace {

constexpr size_t kLargestToken = 8192;

struct AttachOptions {
  std::string name;
  std::string engine = "slurm";
  std::optional<int> max;
  std::string priority;
  SlurmOptions slurm;
};

// As `scontrol token` prints it, or the token alone.
std::string token_in(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  constexpr std::string_view kName = "SLURM_JWT=";
  if (text.starts_with(kName)) text.erase(0, kName.size());
  return text;
}

Result<int> attach(Context& context, const AttachOptions& options) {
  SLIPWAY_TRY(check_name(options.name, "cluster"));
  json::object body{
      {"name", options.name}, {"engine", options.engine}, {"max_nodes", options.max.value_or(64)}};
  if (!options.priority.empty()) body["priority"] = options.priority;
  SLIPWAY_TRY(add_slurm_fields(options.slurm, true, body));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object cluster, session.create(session.in_workspace("/compute"), body));
  if (context.console.json()) {
    context.console.print_json(cluster);
    return 0;
  }
  context.console.line(fmt::format("cluster '{}' attached", options.name));
  context.console.hint(fmt::format("is it reached? slipway compute show {}", options.name));
  context.console.hint(fmt::format("use it: slipway submit --compute {} -- python train.py", options.name));
  return 0;
}

std::string or_default(const json::object& settings, std::string_view name, std::string_view otherwise) {
  std::string text = text_at(settings, name);
  return text.empty() ? std::string(otherwise) : text;
}

}  // namespace

void add_slurm_options(Command command, SlurmOptions& options) {
  command.option("--endpoint", options.endpoint, "URL",
                 "slurmrestd: unix:/path or http://host:port; without it sbatch and squeue are used");
  command.option("--partition", options.partition, "NAME", "the partition its jobs go to (Slurm's default)");
  command.option("--low-partition", options.low_partition, "NAME",
                 "a preemptible partition, for a cluster of low priority");
  command.option("--account", options.account, "NAME", "the account its jobs are counted to");
  command.option("--shared", options.shared, "DIR",
                 "a folder that all nodes see: environments and files are kept there, once for all");
  command.option("--scratch", options.scratch, "DIR", "a folder of each node's own (/var/tmp/slipway-UID)");
  command.option("--server-url", options.server_url, "URL", "how nodes reach this server (its own address)");
  command.option("--user", options.user, "NAME", "whom the token is for (the server's user)");
  command.option(
      "--token-file", options.token_file, "FILE",
      "a JWT for slurmrestd over TCP, as scontrol token prints it; or SLURM_JWT in the environment");
}

Status add_slurm_fields(const SlurmOptions& options, bool fresh, json::object& body) {
  json::object settings;
  const auto put = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) settings[name] = *value;
  };
  put("endpoint", options.endpoint);
  put("user", options.user);
  put("partition", options.partition);
  put("low_partition", options.low_partition);
  put("account", options.account);
  put("shared", options.shared);
  put("scratch", options.scratch);
  put("server_url", options.server_url);
  if (!settings.empty()) body["slurm"] = std::move(settings);
  if (!options.token_file.empty()) {
    SLIPWAY_ASSIGN(std::string text, read_file(options.token_file, kLargestToken));
    body["token"] = token_in(std::move(text));
    return {};
  }
  const char* variable = std::getenv("SLURM_JWT");
  if (fresh && variable != nullptr && options.endpoint && options.endpoint->starts_with("http"))
    body["token"] = token_in(variable);
  return {};
}

std::vector<std::pair<std::string, std::string>> engine_facts(const json::object& cluster) {
  std::vector<std::pair<std::string, std::string>> facts;
  if (text_at(cluster, "engine") != "slurm") return facts;
  const json::object& settings = object_at(cluster, "slurm");
  const json::object& status = object_at(cluster, "engine_status");
  facts.emplace_back(
      "engine", fmt::format("Slurm {} at {}{}", text_at(status, "version"), text_at(settings, "endpoint"),
                            flag_at(settings, "has_token") ? ", with a token" : ""));
  facts.emplace_back("partition", or_default(settings, "partition", "Slurm's default"));
  if (const std::string low = text_at(settings, "low_partition"); !low.empty())
    facts.emplace_back("low priority", low);
  if (const std::string account = text_at(settings, "account"); !account.empty())
    facts.emplace_back("account", account);
  facts.emplace_back("environments", or_default(settings, "shared", "on each node"));
  const json::object& nodes = object_at(status, "nodes");
  if (!nodes.empty())
    facts.emplace_back("Slurm's nodes",
                       fmt::format("{}: {} idle, {} busy, {} asleep, {} down", integer_at(nodes, "total"),
                                   integer_at(nodes, "idle"), integer_at(nodes, "busy"),
                                   integer_at(nodes, "asleep"), integer_at(nodes, "down")));
  return facts;
}

void add_compute_attach(Command compute, Context& context) {
  const auto options = std::make_shared<AttachOptions>();
  Command attach_command =
      compute.command("attach", "Use a Slurm cluster: each run becomes a job there",
                      "slipway compute attach cluster1 --engine slurm --endpoint unix:/run/slurmrestd.sock");
  attach_command.example(
      "slipway compute attach gpus --engine slurm --endpoint http://head:6820 --token-file jwt --partition "
      "gpu --max 16");
  attach_command.positional("NAME", options->name, "the cluster's name here");
  attach_command.choice("--engine", options->engine, {"slurm"}, "what it is");
  attach_command.option("--max", options->max, "N", "nodes that its runs may have or wait for at once (64)");
  attach_command.choice("--priority", options->priority, {"dedicated", "low"},
                        "low: its runs go to the low partition and give way to others");
  add_slurm_options(attach_command, options->slurm);
  attach_command.action([options, &context] { return attach(context, *options); });
}

}  // namespace slipway::cli
