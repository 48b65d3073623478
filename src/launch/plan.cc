#include "launch/plan.h"

#include <fmt/format.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/digest.h"
#include "launch/azure_variables.h"

namespace slipway::launch {
namespace {

// What a launcher decides: the program of this rank, and variables of its own (TF_CONFIG, MASTER_ADDR, ...).
struct Launch {
  std::vector<std::string> argv;
  std::map<std::string, std::string> variables;
};

// The command as it is, once on every node; what the nodes are is in the in-job variables.
Launch launch_single(const AttemptOrder& order) {
  return {.argv = order.job.command, .variables = {}};
}

constexpr std::string_view kInherited[] = {"PATH", "HOME", "LANG", "USER", "TMPDIR"};
constexpr std::string_view kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string join_addresses(const std::vector<Peer>& peers) {
  std::vector<const Peer*> sorted;
  for (const Peer& peer : peers) sorted.push_back(&peer);
  std::ranges::sort(sorted, {}, [](const Peer* peer) { return peer->rank; });
  std::string text;
  for (const Peer* peer : sorted) text += (text.empty() ? "" : ",") + peer->address;
  return text;
}

std::string join_numbers(const std::vector<int>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

std::map<std::string, std::string> in_job_variables(const AttemptOrder& order, const LaunchSite& site,
                                                    const LaunchPlan& plan) {
  return {{"SLIPWAY_RUN_ID", order.key.run.str()},
          {"SLIPWAY_ATTEMPT", std::to_string(order.key.attempt)},
          {"SLIPWAY_NODE_RANK", std::to_string(order.key.rank)},
          {"SLIPWAY_NODE_COUNT", std::to_string(std::max<size_t>(1, order.peers.size()))},
          {"SLIPWAY_NODES", join_addresses(order.peers)},
          {"SLIPWAY_WORKSPACE", order.workspace.str()},
          {"SLIPWAY_EXPERIMENT", order.job.experiment.str()},
          {"SLIPWAY_URL", site.url},
          {"SLIPWAY_TOKEN", order.run_token.reveal()},
          {"SLIPWAY_SOCKET", plan.socket.string()},
          {"SLIPWAY_OUTPUTS", (plan.work / "outputs").string()},
          {"SLIPWAY_LOGS", (plan.work / "logs").string()},
          {"SLIPWAY_INPUTS", json::serialize(slipway::to_json(site.data.inputs))},
          {"SLIPWAY_DATA_OUTPUTS", json::serialize(slipway::to_json(site.data.outputs))},
          {std::string(kMarkVariable), site.mark}};
}

// The folder of the one model, or the one that holds all of them as NAME/VERSION/.
std::map<std::string, std::string> model_variables(const AttemptOrder& order, const LaunchSite& site) {
  if (order.models.empty()) return {};
  std::filesystem::path folder = site.folder / kModelsFolder;
  if (order.models.size() == 1)
    folder = folder / order.models.front().name / std::to_string(order.models.front().version);
  return {{"SLIPWAY_MODEL_DIR", folder.string()}, {"AZUREML_MODEL_DIR", folder.string()}};
}

std::map<std::string, std::string> build_environment(const AttemptOrder& order, const LaunchSite& site,
                                                     const LaunchPlan& plan, const Launch& launch) {
  std::map<std::string, std::string> environment{{"PATH", std::string(kDefaultPath)}, {"LANG", "C.UTF-8"}};
  for (const std::string_view name : kInherited) {
    const auto found = site.environment.find(std::string(name));
    if (found != site.environment.end() && !found->second.empty()) environment[found->first] = found->second;
  }
  if (!site.path_prefix.empty()) environment["PATH"] = site.path_prefix + ":" + environment["PATH"];
  if (!site.program_folder.empty()) environment["PATH"] += ":" + site.program_folder;
  for (const auto& [name, value] : site.variables) environment[name] = value;
  // Empty rather than absent when no GPU is granted: a job must not see those of its neighbours.
  environment["CUDA_VISIBLE_DEVICES"] = join_numbers(order.gpu_indices);
  for (const auto& [name, value] : azure_variables(order, site.url)) environment[name] = value;
  for (const auto& [name, value] : data_variables(site.data)) environment[name] = value;
  for (const auto& [name, value] : model_variables(order, site)) environment[name] = value;
  for (const auto& [name, value] : launch.variables) environment[name] = value;
  for (const auto& [name, value] : order.job.variables) environment[name] = value;
  if (!site.python_packages.empty()) {
    std::string& path = environment["PYTHONPATH"];
    path += (path.empty() ? "" : ":") + site.python_packages;
  }
  for (const auto& [name, value] : in_job_variables(order, site, plan)) environment[name] = value;
  return environment;
}

}  // namespace

std::filesystem::path socket_path(const std::filesystem::path& folder) {
  const std::filesystem::path beside = folder / "run.sock";
  if (beside.native().size() < sizeof(sockaddr_un::sun_path)) return beside;
  return fmt::format("/tmp/slipway-{}/{}.sock", ::getuid(), Digest::of(folder.native()).hex().substr(0, 32));
}

Result<LaunchPlan> plan(const AttemptOrder& order, const LaunchSite& site) {
  if (order.job.command.empty() || order.job.command.front().empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("run {} has no command", order.key.run));
  Launch launch = launch_single(order);
  for (std::string& argument : launch.argv) {
    SLIPWAY_ASSIGN(argument, put_paths(argument, site.data));
  }
  LaunchPlan plan{.argv = launch.argv,
                  .environment = {},
                  .work = site.folder / "work",
                  .socket = socket_path(site.folder)};
  plan.environment = build_environment(order, site, plan, launch);
  return plan;
}

Result<SupervisorSpec> supervisor_spec(const AttemptOrder& order, const LaunchSite& site) {
  SLIPWAY_ASSIGN(LaunchPlan plan, launch::plan(order, site));
  return SupervisorSpec{
      .key = order.key,
      .mark = site.mark,
      .argv = std::move(plan.argv),
      .environment = std::move(plan.environment),
      .work = plan.work.string(),
      .socket = plan.socket.string(),
      .limits = {.memory_bytes = order.granted.memory_bytes, .cpus = order.granted.cpus, .pids = 0},
      .timeout = order.job.timeout,
      .grace = order.job.grace,
      .log_quota_bytes = order.log_quota_bytes,
      .gpu_indices = order.gpu_indices,
      .overlays = site.overlays,
      .root = site.root,
      .mounts = {}};
}

}  // namespace slipway::launch
