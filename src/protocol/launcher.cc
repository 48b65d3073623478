#include "protocol/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "protocol/job.h"

namespace slipway {
namespace {

constexpr int kMaxProcesses = 256;  // on each node
constexpr int kMaxTasks = 65'536;
constexpr const char* kLaunchers = "launchers: none, mpi, pytorch, tensorflow[:workers=N,ps=N,chief]";

constexpr std::array<std::pair<LauncherKind, std::string_view>, 4> kNames{{
    {LauncherKind::kNone, "none"},
    {LauncherKind::kMpi, "mpi"},
    {LauncherKind::kPyTorch, "pytorch"},
    {LauncherKind::kTensorFlow, "tensorflow"},
}};

std::unexpected<Error> refuse(std::string message, std::string next = kLaunchers) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(next));
}

Result<int> parse_count(std::string_view name, std::string_view text, int least) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least || number > kMaxTasks)
    return refuse(fmt::format("the launcher's {} must be a number from {} to {}", name, least, kMaxTasks));
  return number;
}

Status take_setting(Launcher& launcher, std::string_view setting) {
  const size_t equals = setting.find('=');
  const std::string_view name = setting.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : setting.substr(equals + 1);
  if (name == "chief" && (equals == std::string_view::npos || value == "1")) {
    launcher.chief = true;
  } else if (name == "chief" && value == "0") {
    launcher.chief = false;
  } else if (name == "workers") {
    SLIPWAY_ASSIGN(launcher.workers, parse_count(name, value, 1));
  } else if (name == "ps") {
    SLIPWAY_ASSIGN(launcher.ps, parse_count(name, value, 0));
  } else {
    return refuse("the launcher has a setting that TensorFlow does not know",
                  "it knows workers=N, ps=N and chief: tensorflow:workers=2,ps=1");
  }
  return {};
}

// The workers, stated or left over.
int workers_of(const Job& job) {
  const Launcher& launcher = job.launcher;
  if (launcher.workers > 0) return launcher.workers;
  return job.nodes * job.processes - launcher.ps - (launcher.chief ? 1 : 0);
}

Status check_tensorflow(const Job& job) {
  const int places = job.nodes * job.processes;
  if (workers_of(job) < 1)
    return refuse(
        fmt::format("{} leaves no place for a worker: {} nodes with {} processes each are {} places",
                    to_text(job.launcher), job.nodes, job.processes, places),
        "raise --nodes or --processes, or ask for fewer parameter servers");
  const int tasks = process_count(job);
  if (tasks > places)
    return refuse(
        fmt::format("{} needs {} processes, and {} nodes with {} each give {} places", to_text(job.launcher),
                    tasks, job.nodes, job.processes, places),
        fmt::format("raise the processes on each node: --processes {}", (tasks + job.nodes - 1) / job.nodes));
  if (tasks < job.nodes)
    return refuse(fmt::format("{} needs {} processes, which leaves some of the {} nodes without one",
                              to_text(job.launcher), tasks, job.nodes),
                  fmt::format("ask for no more nodes than that: --nodes {}", tasks));
  return {};
}

}  // namespace

std::string_view to_text(LauncherKind kind) {
  for (const auto& [candidate, name] : kNames)
    if (candidate == kind) return name;
  return "";
}

std::string to_text(const Launcher& launcher) {
  std::string text(to_text(launcher.kind));
  std::string settings;
  if (launcher.workers > 0) settings += fmt::format(",workers={}", launcher.workers);
  if (launcher.ps > 0) settings += fmt::format(",ps={}", launcher.ps);
  if (launcher.chief) settings += ",chief";
  if (!settings.empty()) settings.front() = ':';
  return text + settings;
}

Result<Launcher> parse_launcher(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto known = std::ranges::find(kNames, name, &std::pair<LauncherKind, std::string_view>::second);
  if (known == kNames.end()) return refuse("there is no such launcher");
  Launcher launcher{.kind = known->first};
  if (colon == std::string_view::npos) return launcher;
  if (launcher.kind != LauncherKind::kTensorFlow)
    return refuse(fmt::format("the launcher '{}' has no settings", name),
                  fmt::format("write --launcher {}, and --processes N for how many on each node", name));
  std::string_view settings = text.substr(colon + 1);
  while (true) {
    const size_t comma = settings.find(',');
    SLIPWAY_TRY(take_setting(launcher, settings.substr(0, comma)));
    if (comma == std::string_view::npos) return launcher;
    settings.remove_prefix(comma + 1);
  }
}

Status check_launcher(const Job& job) {
  if (job.processes < 1 || job.processes > kMaxProcesses)
    return refuse(fmt::format("the job: field 'processes' must be between 1 and {}", kMaxProcesses), "");
  if (job.launcher.kind == LauncherKind::kNone && job.processes > 1)
    return refuse(
        fmt::format("{} processes on each node need a launcher that tells them apart", job.processes),
        "add --launcher pytorch, mpi or tensorflow; without one a node runs the command once");
  return job.launcher.kind == LauncherKind::kTensorFlow ? check_tensorflow(job) : Status();
}

int process_count(const Job& job) {
  if (job.launcher.kind != LauncherKind::kTensorFlow) return job.nodes * job.processes;
  return workers_of(job) + job.launcher.ps + (job.launcher.chief ? 1 : 0);
}

std::string rank_log(int rank) {
  return fmt::format("user_logs/std_log_process_{}.txt", rank);
}

std::string first_log(const Job& job) {
  return process_count(job) > 1 ? rank_log(0) : "std_log.txt";
}

int first_rank_of_node(const Job& job, int node_rank) {
  return job.launcher.kind == LauncherKind::kTensorFlow ? node_rank : node_rank * job.processes;
}

}  // namespace slipway
