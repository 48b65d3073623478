#include "launch/spec.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>

#include "base/fd.h"
#include "base/file.h"

namespace slipway::launch {
namespace {

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Duration from_seconds(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

json::array to_json(const std::vector<int>& numbers) {
  json::array array;
  for (const int number : numbers) array.emplace_back(number);
  return array;
}

Result<std::vector<int>> numbers_from_json(const json::array& array) {
  std::vector<int> numbers;
  for (const json::value& item : array) {
    if (!item.is_int64() || item.get_int64() < 0 || item.get_int64() > 1024)
      return fail(ErrorCode::kInvalidArgument,
                  "the supervisor's order: 'gpu_indices' must hold small numbers");
    numbers.push_back(static_cast<int>(item.get_int64()));
  }
  return numbers;
}

json::object to_json(const Overlay& overlay) {
  return {{"folder", overlay.folder}, {"upper", overlay.upper}, {"work", overlay.work}};
}

json::array to_json(const std::vector<Overlay>& overlays) {
  json::array array;
  for (const Overlay& overlay : overlays) array.emplace_back(to_json(overlay));
  return array;
}

json::object to_json(const Root& root) {
  return {{"files", to_json(root.files)},
          {"mount", root.mount},
          {"binds", slipway::to_json(root.binds)},
          {"shm_bytes", root.shm_bytes}};
}

Result<Overlay> overlay_from_json(const json::object& object) {
  Overlay overlay;
  JsonFields fields(object, "an overlay of the supervisor's order");
  fields.required("folder", overlay.folder);
  fields.required("upper", overlay.upper);
  fields.required("work", overlay.work);
  SLIPWAY_TRY(fields.finish_lenient());
  return overlay;
}

Result<std::vector<Overlay>> overlays_from_json(const json::array& array) {
  std::vector<Overlay> overlays;
  for (const json::value& item : array) {
    if (!item.is_object())
      return fail(ErrorCode::kInvalidArgument, "the supervisor's order: 'overlays' must hold objects");
    SLIPWAY_ASSIGN(Overlay overlay, overlay_from_json(item.get_object()));
    overlays.push_back(std::move(overlay));
  }
  return overlays;
}

Result<Root> root_from_json(const json::object& object) {
  Root root;
  json::object files;
  JsonFields fields(object, "the root of the supervisor's order");
  fields.required("files", files);
  fields.required("mount", root.mount);
  fields.optional("binds", root.binds);
  fields.optional("shm_bytes", root.shm_bytes);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_ASSIGN(root.files, overlay_from_json(files));
  return root;
}

json::array to_json(const std::vector<ProcessSpec>& processes) {
  json::array array;
  for (const ProcessSpec& process : processes)
    array.push_back(json::object{{"rank", process.rank},
                                 {"argv", slipway::to_json(process.argv)},
                                 {"environment", slipway::to_json(process.environment)},
                                 {"log", process.log},
                                 {"name", process.name}});
  return array;
}

json::array to_json(const std::vector<RankPipe>& pipes) {
  json::array array;
  for (const RankPipe& pipe : pipes)
    array.push_back(json::object{{"rank", pipe.rank}, {"path", pipe.path}, {"log", pipe.log}});
  return array;
}

Result<std::vector<ProcessSpec>> processes_from_json(const json::array& array) {
  std::vector<ProcessSpec> processes;
  for (const json::value& item : array) {
    if (!item.is_object())
      return fail(ErrorCode::kInvalidArgument, "the supervisor's order: 'processes' must hold objects");
    ProcessSpec process;
    JsonFields fields(item.get_object(), "a process of the supervisor's order");
    fields.required("rank", process.rank);
    fields.required("argv", process.argv);
    fields.optional("environment", process.environment);
    fields.optional("log", process.log);
    fields.optional("name", process.name);
    SLIPWAY_TRY(fields.finish_lenient());
    if (process.argv.empty() || process.argv.front().empty())
      return fail(ErrorCode::kInvalidArgument, "the supervisor's order names no program");
    processes.push_back(std::move(process));
  }
  if (processes.empty()) return fail(ErrorCode::kInvalidArgument, "the supervisor's order has no process");
  return processes;
}

Result<std::vector<RankPipe>> pipes_from_json(const json::array& array) {
  std::vector<RankPipe> pipes;
  for (const json::value& item : array) {
    if (!item.is_object())
      return fail(ErrorCode::kInvalidArgument, "the supervisor's order: 'pipes' must hold objects");
    RankPipe pipe;
    JsonFields fields(item.get_object(), "a pipe of the supervisor's order");
    fields.required("rank", pipe.rank);
    fields.required("path", pipe.path);
    fields.required("log", pipe.log);
    SLIPWAY_TRY(fields.finish_lenient());
    pipes.push_back(std::move(pipe));
  }
  return pipes;
}

Result<json::object> read_document(const std::filesystem::path& folder) {
  SLIPWAY_ASSIGN(const std::string text, read_file(folder / "spec.json"));
  return parse_json_object(text, "spec.json");
}

}  // namespace

json::object to_json(const SupervisorSpec& spec) {
  return {
      {"key", slipway::to_json(spec.key)},
      {"mark", spec.mark},
      {"processes", to_json(spec.processes)},
      {"pipes", to_json(spec.pipes)},
      {"process_count", spec.process_count},
      {"files", slipway::to_json(spec.files)},
      {"end_rule", spec.end_rule == EndRule::kLeader ? "leader" : "all"},
      {"environment", slipway::to_json(spec.environment)},
      {"work", spec.work},
      {"socket", spec.socket},
      {"limits",
       {{"memory_bytes", spec.limits.memory_bytes}, {"cpus", spec.limits.cpus}, {"pids", spec.limits.pids}}},
      {"timeout_seconds", seconds(spec.timeout)},
      {"grace_seconds", seconds(spec.grace)},
      {"log_quota_bytes", spec.log_quota_bytes},
      {"gpu_indices", to_json(spec.gpu_indices)},
      {"overlays", to_json(spec.overlays)},
      {"root", spec.root ? json::value(to_json(*spec.root)) : json::value(nullptr)},
      {"mounts", slipway::to_json(spec.mounts)}};
}

Result<SupervisorSpec> supervisor_spec_from_json(const json::object& object) {
  SupervisorSpec spec;
  json::object key;
  json::object limits;
  json::array processes;
  json::array pipes;
  std::string end_rule = "all";
  json::array gpus;
  json::array overlays;
  double timeout = 0;
  double grace = 10;
  JsonFields fields(object, "the supervisor's order");
  fields.required("key", key);
  fields.required("mark", spec.mark);
  fields.required("processes", processes);
  fields.optional("pipes", pipes);
  fields.optional("process_count", spec.process_count);
  fields.optional("end_rule", end_rule);
  fields.optional("files", spec.files);
  fields.required("environment", spec.environment);
  fields.required("work", spec.work);
  fields.required("socket", spec.socket);
  fields.optional("limits", limits);
  fields.optional("timeout_seconds", timeout);
  fields.optional("grace_seconds", grace);
  fields.optional("log_quota_bytes", spec.log_quota_bytes);
  fields.optional("gpu_indices", gpus);
  fields.optional("overlays", overlays);
  fields.optional("mounts", spec.mounts);
  SLIPWAY_TRY(fields.finish_lenient());

  JsonFields limit_fields(limits, "the supervisor's limits");
  limit_fields.optional("memory_bytes", spec.limits.memory_bytes);
  limit_fields.optional("cpus", spec.limits.cpus);
  limit_fields.optional("pids", spec.limits.pids);
  SLIPWAY_TRY(limit_fields.finish_lenient());

  SLIPWAY_ASSIGN(spec.processes, processes_from_json(processes));
  SLIPWAY_ASSIGN(spec.pipes, pipes_from_json(pipes));
  spec.end_rule = end_rule == "leader" ? EndRule::kLeader : EndRule::kAll;
  SLIPWAY_ASSIGN(spec.key, attempt_key_from_json(key));
  SLIPWAY_ASSIGN(spec.gpu_indices, numbers_from_json(gpus));
  SLIPWAY_ASSIGN(spec.overlays, overlays_from_json(overlays));
  if (const json::value* root = object.if_contains("root"); root != nullptr && root->is_object()) {
    SLIPWAY_ASSIGN(spec.root, root_from_json(root->get_object()));
  }
  spec.timeout = from_seconds(timeout);
  spec.grace = from_seconds(grace);
  return spec;
}

Status write_spec(const std::filesystem::path& folder, const SupervisorSpec& spec,
                  const AttemptOrder& order) {
  json::object document = to_json(spec);
  document.emplace("order", slipway::to_json(order));
  const std::filesystem::path aside = folder / "spec.json.new";
  {
    const UniqueFd file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file) return fail(errno_error(errno, fmt::format("create {}", aside.string())));
    SLIPWAY_TRY(write_all(file.get(), json::serialize(document)));
  }
  if (::rename(aside.c_str(), (folder / "spec.json").c_str()) != 0)
    return fail(errno_error(errno, fmt::format("rename {}", aside.string())));
  return {};
}

Result<SupervisorSpec> read_spec(const std::filesystem::path& folder) {
  SLIPWAY_ASSIGN(const json::object document, read_document(folder));
  return supervisor_spec_from_json(document);
}

Result<AttemptOrder> read_order(const std::filesystem::path& folder) {
  SLIPWAY_ASSIGN(const json::object document, read_document(folder));
  json::object order;
  JsonFields fields(document, "spec.json");
  fields.required("order", order);
  SLIPWAY_TRY(fields.finish_lenient());
  return attempt_order_from_json(order);
}

}  // namespace slipway::launch
