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

constexpr std::string_view kInherited[] = {"PATH", "HOME", "LANG", "USER", "TMPDIR"};
constexpr std::string_view kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// As the nodes have said it themselves, where they have; else as they are registered.
std::string join_addresses(const std::vector<Peer>& peers, const std::vector<NodeOffer>& offers) {
  if (!offers.empty()) {
    std::vector<std::string_view> addresses;
    for (const NodeOffer& offer : offers) addresses.emplace_back(offer.address);
    return fmt::format("{}", fmt::join(addresses, ","));
  }
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
          {"SLIPWAY_NODES", join_addresses(order.peers, site.offers)},
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
                                                     const LaunchPlan& plan) {
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
  for (const auto& [name, value] : network_variables(order.job, site.network)) environment[name] = value;
  for (const auto& [name, value] : plan.launch.variables) environment[name] = value;
  for (const auto& [name, value] : order.job.variables) environment[name] = value;
  if (!site.python_packages.empty()) {
    std::string& path = environment["PYTHONPATH"];
    path += (path.empty() ? "" : ":") + site.python_packages;
  }
  // mpirun finds Slipway by its name on every node, whatever PATH the job wants.
  if (order.job.launcher.kind == LauncherKind::kMpi && order.job.variables.contains("PATH"))
    environment["PATH"] += ":" + site.program_folder;
  if (!site.ca_file.empty()) environment["SLIPWAY_CA_FILE"] = site.ca_file;
  for (const auto& [name, value] : in_job_variables(order, site, plan)) environment[name] = value;
  return environment;
}

}  // namespace

std::filesystem::path socket_path(const std::filesystem::path& folder) {
  std::filesystem::path beside = folder / "run.sock";
  if (beside.native().size() < sizeof(sockaddr_un::sun_path)) return beside;
  return fmt::format("/tmp/slipway-{}/{}.sock", ::getuid(), Digest::of(folder.native()).hex().substr(0, 32));
}

Result<LaunchPlan> plan(const AttemptOrder& order, const LaunchSite& site) {
  if (order.job.command.empty() || order.job.command.front().empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("run {} has no command", order.key.run));
  LaunchInput input{.order = order,
                    .offers = site.offers,
                    .command = order.job.command,
                    .folder = site.folder,
                    .program = site.program_folder + "/slipway"};
  for (std::string& argument : input.command) {
    SLIPWAY_ASSIGN(argument, put_paths(argument, site.data));
  }
  SLIPWAY_ASSIGN(Launch launch, launch::launch(input));
  LaunchPlan plan{.launch = std::move(launch),
                  .environment = {},
                  .work = site.folder / "work",
                  .socket = socket_path(site.folder)};
  plan.environment = build_environment(order, site, plan);
  return plan;
}

Result<SupervisorSpec> supervisor_spec(const AttemptOrder& order, const LaunchSite& site) {
  SLIPWAY_ASSIGN(LaunchPlan plan, launch::plan(order, site));
  return SupervisorSpec{
      .key = order.key,
      .mark = site.mark,
      .processes = std::move(plan.launch.processes),
      .pipes = std::move(plan.launch.pipes),
      .process_count = process_count(order.job),
      .end_rule = plan.launch.end_rule,
      .files = std::move(plan.launch.files),
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
