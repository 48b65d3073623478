#include "compute/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compute/shares.h"

namespace slipway::compute {

namespace {

// Leaves room for the random part of a node's id within the length of a name.
constexpr size_t kLongestName = 48;
constexpr double kLeastCpus = 0.1;
constexpr uint64_t kLeastMemory = 64 << 20;
constexpr int kMostGpus = 64;
constexpr Duration kLongestIdle = std::chrono::days(30);
constexpr size_t kLongestToken = 8192;

Status check_limits(const ClusterSpec& spec) {
  if (spec.max_nodes < 0 || spec.max_nodes > kMostNodes)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cluster '{}' is given at most {} nodes", spec.name, spec.max_nodes),
                fmt::format("give a maximum from 0 (only machines that join) to {}", kMostNodes));
  if (spec.min_nodes < 0 || spec.min_nodes > spec.max_nodes)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cluster '{}' is given at least {} and at most {} nodes", spec.name,
                            spec.min_nodes, spec.max_nodes),
                "give a minimum from 0 to the maximum");
  if (spec.idle < Duration::zero() || spec.idle > kLongestIdle)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cluster '{}' is given an idle time of {} s", spec.name,
                            std::chrono::duration_cast<std::chrono::seconds>(spec.idle).count()),
                "give an idle time from 0 to 30 days, such as 120s");
  return {};
}

Status check_size(const ClusterSpec& spec) {
  if (!std::isfinite(spec.cpus) || spec.cpus < 0 || (spec.cpus > 0 && spec.cpus < kLeastCpus) ||
      spec.cpus > 1e5)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cluster '{}' is given nodes with {} CPUs", spec.name, spec.cpus),
                fmt::format("give {} or more, or 0 for all of the machine's", kLeastCpus));
  if (spec.memory_bytes > 0 && (spec.memory_bytes < kLeastMemory || spec.memory_bytes > uint64_t{1} << 50))
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("cluster '{}' is given nodes with {} bytes of memory", spec.name, spec.memory_bytes),
        "give 64 MiB or more, or 0 for all of the machine's");
  if (spec.gpus < kAllGpus || spec.gpus > kMostGpus)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cluster '{}' is given nodes with {} GPUs", spec.name, spec.gpus),
                fmt::format("give 0 to {}", kMostGpus));
  return {};
}

Result<Priority> parse_priority(std::string_view text) {
  if (text == "dedicated") return Priority::kDedicated;
  if (text == "low") return Priority::kLow;
  return fail(ErrorCode::kInvalidArgument, fmt::format("there is no priority '{}'", text),
              "use 'dedicated' or 'low'");
}

Result<EngineKind> parse_engine(std::string_view text) {
  if (text == engine_name(EngineKind::kLocal)) return EngineKind::kLocal;
  if (text == engine_name(EngineKind::kSlurm)) return EngineKind::kSlurm;
  return fail(ErrorCode::kInvalidArgument, fmt::format("there is no engine '{}'", text),
              "use 'local' or 'slurm'");
}

// What only clusters of Slurm have.
Status take_slurm_fields(const std::optional<json::object>& settings, const std::optional<std::string>& token,
                         ClusterRequest& request) {
  ClusterSpec& spec = request.spec;
  if (spec.engine != EngineKind::kSlurm) {
    if (!settings && !token) return {};
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cluster '{}' is of this machine: it has no settings of Slurm", spec.name),
                fmt::format("slipway compute attach NAME --engine slurm makes one of Slurm's"));
  }
  if (settings) SLIPWAY_TRY(read_slurm_settings(*settings, spec.slurm));
  if (spec.slurm.endpoint.empty()) spec.slurm.endpoint = kSlurmCommands;
  SLIPWAY_TRY(check(spec.slurm));
  if (!token) return {};
  if (token->size() > kLongestToken ||
      std::ranges::any_of(*token, [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; }))
    return fail(ErrorCode::kInvalidArgument, "the token for slurmrestd is no JWT",
                "scontrol token prints one; give what stands behind the '='");
  spec.has_token = !token->empty();
  request.token = Secret(*token);
  return {};
}

// The fields that may be given at creation and changed later.
Status read_fields(JsonFields& fields, ClusterRequest& request) {
  ClusterSpec& spec = request.spec;
  std::optional<json::object> slurm;
  std::optional<std::string> token;
  fields.optional("slurm", slurm);
  fields.optional("token", token);
  double idle_seconds = std::chrono::duration<double>(spec.idle).count();
  std::string priority(priority_name(spec.priority));
  std::optional<int> gpus;
  fields.optional("min_nodes", spec.min_nodes);
  fields.optional("max_nodes", spec.max_nodes);
  fields.optional("idle_seconds", idle_seconds);
  fields.optional("cpus", spec.cpus);
  fields.optional("memory_bytes", spec.memory_bytes);
  fields.optional("gpus", gpus);
  fields.optional("priority", priority);
  SLIPWAY_TRY(fields.finish());
  if (std::isnan(idle_seconds) || idle_seconds < 0 || idle_seconds > 1e9)
    return fail(ErrorCode::kInvalidArgument, fmt::format("idle_seconds is {}", idle_seconds),
                "give an idle time from 0 to 30 days, in seconds");
  spec.idle = Duration(std::llround(idle_seconds * 1e6));
  if (gpus && *gpus < 0)
    return fail(ErrorCode::kInvalidArgument, fmt::format("gpus is {}", *gpus), "give 0 or more");
  if (gpus) spec.gpus = *gpus;
  SLIPWAY_ASSIGN(spec.priority, parse_priority(priority));
  return take_slurm_fields(slurm, token, request);
}

void warn_when_shared(const ClusterSpec& spec, const Machine& machine, NodeSize& size) {
  const double all = size.capacity.cpus * spec.max_nodes;
  if (spec.max_nodes == 1 || all <= machine.cpus + 1e-9) return;
  size.warnings.push_back(fmt::format("{} nodes of {} share this machine's {} when all of them are busy",
                                      spec.max_nodes, cpus_text(std::llround(size.capacity.cpus * 1000)),
                                      std::round(machine.cpus * 1000) / 1000));
}

}  // namespace

std::string_view priority_name(Priority priority) {
  return priority == Priority::kLow ? "low" : "dedicated";
}

std::string_view engine_name(EngineKind engine) {
  return engine == EngineKind::kSlurm ? "slurm" : "local";
}

Status check(const ClusterSpec& spec) {
  SLIPWAY_TRY(check_name(spec.workspace.str(), "workspace"));
  SLIPWAY_TRY(check_name(spec.name.str(), "cluster", kLongestName));
  SLIPWAY_TRY(check_limits(spec));
  return check_size(spec);
}

ClusterSpec local_cluster(const WorkspaceName& workspace, Timestamp now) {
  ClusterSpec spec;
  spec.workspace = workspace;
  spec.name = ClusterName(std::string(kLocalCluster));
  spec.min_nodes = workspace.str() == "default" ? 1 : 0;
  spec.gpus = kAllGpus;
  spec.created_at = now;
  return spec;
}

NodeSize node_size(const ClusterSpec& spec, const Machine& machine) {
  NodeSize size;
  if (spec.engine == EngineKind::kSlurm) return size;  // Slurm says how large its nodes are
  const int machine_gpus = static_cast<int>(machine.gpus.size());
  size.capacity.cpus = spec.cpus > 0 ? std::min(spec.cpus, machine.cpus) : machine.cpus;
  size.capacity.memory_bytes =
      spec.memory_bytes > 0 ? std::min(spec.memory_bytes, machine.memory_bytes) : machine.memory_bytes;
  size.capacity.gpus = spec.gpus == kAllGpus ? machine_gpus : std::min(spec.gpus, machine_gpus);
  const Amount asked = to_amount(
      NodeCapacity{.cpus = spec.cpus, .memory_bytes = spec.memory_bytes, .gpus = spec.gpus, .gpu_names = {}});
  const Amount got = to_amount(size.capacity);
  if (asked.milli_cpus > got.milli_cpus)
    size.warnings.push_back(
        fmt::format("nodes were to have {}; this machine has {}, so that is what they have",
                    cpus_text(asked.milli_cpus), cpus_text(got.milli_cpus)));
  if (asked.memory_bytes > got.memory_bytes)
    size.warnings.push_back(
        fmt::format("nodes were to have {} of memory; this machine has {}, so that is what they have",
                    memory_text(asked.memory_bytes), memory_text(got.memory_bytes)));
  if (asked.gpus > got.gpus)
    size.warnings.push_back(
        fmt::format("nodes were to have {}; this machine has {}, so that is what they have",
                    gpus_text(asked.gpus), gpus_text(got.gpus)));
  warn_when_shared(spec, machine, size);
  return size;
}

Result<ClusterRequest> cluster_spec_from_json(const json::object& object) {
  ClusterRequest request;
  std::string engine(engine_name(EngineKind::kLocal));
  JsonFields fields(object, "the cluster");
  fields.required("name", request.spec.name);
  fields.optional("engine", engine);
  SLIPWAY_ASSIGN(request.spec.engine, parse_engine(engine));
  SLIPWAY_TRY(read_fields(fields, request));
  SLIPWAY_TRY(check_name(request.spec.name.str(), "cluster", kLongestName));
  SLIPWAY_TRY(check_limits(request.spec));
  SLIPWAY_TRY(check_size(request.spec));
  return request;
}

Result<ClusterRequest> patched(ClusterSpec spec, const json::object& object) {
  ClusterRequest request{.spec = std::move(spec), .token = std::nullopt};
  JsonFields fields(object, "the change of the cluster");
  SLIPWAY_TRY(read_fields(fields, request));
  SLIPWAY_TRY(check(request.spec));
  return request;
}

json::object to_json(const ClusterSpec& spec, const NodeSize& size, const NodeCounts& nodes,
                     size_t queued_runs) {
  json::object object{{"name", spec.name.str()},
                      {"min_nodes", spec.min_nodes},
                      {"max_nodes", spec.max_nodes},
                      {"idle_seconds", std::chrono::duration<double>(spec.idle).count()},
                      {"cpus", size.capacity.cpus},
                      {"memory_bytes", size.capacity.memory_bytes},
                      {"gpus", size.capacity.gpus},
                      {"priority", priority_name(spec.priority)},
                      {"engine", engine_name(spec.engine)},
                      {"nodes",
                       {{"starting", nodes.starting},
                        {"idle", nodes.idle},
                        {"busy", nodes.busy},
                        {"draining", nodes.draining},
                        {"lost", nodes.lost}}},
                      {"queued_runs", queued_runs},
                      {"created_at", to_iso8601(spec.created_at)},
                      {"warnings", slipway::to_json(size.warnings)}};
  if (spec.engine == EngineKind::kSlurm) {
    json::object settings = to_json(spec.slurm);
    settings["has_token"] = spec.has_token;
    object["slurm"] = std::move(settings);
  }
  return object;
}

}  // namespace slipway::compute
