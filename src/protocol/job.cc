#include "protocol/job.h"

#include <fmt/format.h>

#include <cmath>

#include "base/digest.h"
#include "protocol/environment.h"

namespace slipway {
namespace {

constexpr size_t kMaxArguments = 4096;
constexpr size_t kMaxArgumentBytes = 128 << 10;  // the kernel's own limit for one string of execve
constexpr size_t kMaxCommandBytes = 1 << 20;
constexpr size_t kMaxVariables = 1000;
constexpr size_t kMaxTags = 200;
constexpr size_t kMaxTagKey = 256;
constexpr size_t kMaxTagValue = 5000;
constexpr size_t kMaxText = 1024;
constexpr int kMaxNodes = 1024;
constexpr int kMaxGpus = 64;
constexpr int kMaxAttempts = 100;
constexpr double kMaxCpus = 4096;
constexpr double kMaxSeconds = 315'360'000;  // ten years
constexpr double kMaxGraceSeconds = 86'400;

Status refuse(std::string message, std::string next = "") {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(next));
}

bool has_control_characters(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return true;
  return false;
}

Status check_text(std::string_view text, std::string_view what, size_t max) {
  if (text.size() > max) return refuse(fmt::format("the {} is longer than {} bytes", what, max));
  if (has_control_characters(text)) return refuse(fmt::format("the {} holds a control character", what));
  return {};
}

json::value seconds_of(Duration duration) {
  return json_number(static_cast<double>(duration.count()) / 1e6);
}

Result<Duration> duration_from(double seconds, std::string_view field, double max) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > max)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the job: field '{}' must be between 0 and {} seconds", field, max));
  return Duration(std::llround(seconds * 1e6));
}

Status check_command(const std::vector<std::string>& command) {
  if (command.empty() || command.front().empty())
    return refuse("the job has no command", "name a program and its arguments: python train.py --epochs 3");
  if (command.size() > kMaxArguments)
    return refuse(fmt::format("the command has more than {} arguments", kMaxArguments),
                  "put them in a file of the source folder and pass its name");
  size_t total = 0;
  for (const std::string& argument : command) {
    if (argument.find('\0') != std::string::npos)
      return refuse("an argument of the command holds a NUL byte");
    total += argument.size() + 1;
    if (argument.size() >= kMaxArgumentBytes || total > kMaxCommandBytes)
      return refuse("the command is too long for the system",
                    "put long arguments in a file of the source folder and pass its name");
  }
  return {};
}

Status check_variables(const std::map<std::string, std::string>& variables) {
  if (variables.size() > kMaxVariables)
    return refuse(fmt::format("the job sets more than {} environment variables", kMaxVariables));
  size_t total = 0;
  for (const auto& [name, value] : variables) {
    if (name.empty() || name.find('=') != std::string::npos || has_control_characters(name))
      return refuse("an environment variable of the job has no usable name",
                    "a name is not empty and holds neither '=' nor control characters");
    if (name.starts_with("SLIPWAY_"))
      return refuse(fmt::format("the environment variable '{}' cannot be set by a job", name.substr(0, 64)),
                    "names that begin with SLIPWAY_ are Slipway's own; choose another");
    if (value.find('\0') != std::string::npos)
      return refuse(fmt::format("the environment variable '{}' holds a NUL byte", name.substr(0, 64)));
    total += name.size() + value.size() + 2;
    if (name.size() + value.size() + 2 > kMaxArgumentBytes || total > kMaxCommandBytes)
      return refuse(
          fmt::format("the environment variable '{}' is too long for the system", name.substr(0, 64)));
  }
  return {};
}

Status check_tags(const std::map<std::string, std::string>& tags) {
  if (tags.size() > kMaxTags) return refuse(fmt::format("the job has more than {} tags", kMaxTags));
  for (const auto& [key, value] : tags) {
    if (key.empty()) return refuse("a tag of the job has an empty name");
    SLIPWAY_TRY(check_text(key, "name of a tag", kMaxTagKey));
    if (key.find('=') != std::string::npos)
      return refuse(fmt::format("the tag name '{}' holds '='", key),
                    "a filter 'name=value' could not find it");
    if (value.size() > kMaxTagValue || value.find('\0') != std::string::npos)
      return refuse(fmt::format("the value of the tag '{}' is longer than {} bytes or holds a NUL byte", key,
                                kMaxTagValue));
  }
  return {};
}

Status check_bounds(const Job& job) {
  if (job.nodes < 1 || job.nodes > kMaxNodes)
    return refuse(fmt::format("the job: field 'nodes' must be between 1 and {}", kMaxNodes));
  if (job.max_attempts < 1 || job.max_attempts > kMaxAttempts)
    return refuse(fmt::format("the job: field 'max_attempts' must be between 1 and {}", kMaxAttempts));
  SLIPWAY_TRY(check_launcher(job));
  if (!job.snapshot.empty() && !Digest::parse(job.snapshot))
    return refuse("the job: field 'snapshot' must be the digest of a manifest: 64 hexadecimal digits");
  return {};
}

Status check_texts(const Job& job) {
  SLIPWAY_TRY(check_name(job.experiment.str(), "experiment"));
  SLIPWAY_TRY(check_name(job.compute.str(), "cluster"));
  if (auto reference = parse_environment_reference(job.environment); !reference)
    return fail(std::move(reference).error());
  SLIPWAY_TRY(check_text(job.display_name, "display name", 256));
  SLIPWAY_TRY(check_text(job.git.commit, "git commit", kMaxText));
  SLIPWAY_TRY(check_text(job.git.branch, "git branch", kMaxText));
  SLIPWAY_TRY(check_text(job.git.remote, "git remote", kMaxText * 2));
  return {};
}

json::object to_json(const GitState& git) {
  return {{"commit", git.commit}, {"branch", git.branch}, {"remote", git.remote}, {"dirty", git.dirty}};
}

Result<GitState> git_from_json(const json::object& object) {
  GitState git;
  JsonFields fields(object, "the job's git state");
  fields.optional("commit", git.commit);
  fields.optional("branch", git.branch);
  fields.optional("remote", git.remote);
  fields.optional("dirty", git.dirty);
  SLIPWAY_TRY(fields.finish());
  return git;
}

}  // namespace

json::object to_json(const Resources& resources) {
  return {{"cpus", json_number(resources.cpus)},
          {"memory_bytes", resources.memory_bytes},
          {"gpus", resources.gpus}};
}

Result<Resources> resources_from_json(const json::object& object) {
  Resources resources;
  JsonFields fields(object, "the resources");
  fields.optional("cpus", resources.cpus);
  fields.optional("memory_bytes", resources.memory_bytes);
  fields.optional("gpus", resources.gpus);
  SLIPWAY_TRY(fields.finish());
  if (!std::isfinite(resources.cpus) || resources.cpus < 0 || resources.cpus > kMaxCpus)
    return fail(ErrorCode::kInvalidArgument, fmt::format("the CPUs must be between 0 and {}", kMaxCpus));
  if (resources.gpus < 0 || resources.gpus > kMaxGpus)
    return fail(ErrorCode::kInvalidArgument, fmt::format("the GPUs must be between 0 and {}", kMaxGpus));
  return resources;
}

json::object to_json(const Job& job) {
  return {{"experiment", job.experiment.str()},
          {"display_name", job.display_name},
          {"compute", job.compute.str()},
          {"environment", job.environment},
          {"command", to_json(job.command)},
          {"snapshot", job.snapshot},
          {"tags", to_json(job.tags)},
          {"variables", to_json(job.variables)},
          {"inputs", to_json(job.inputs)},
          {"outputs", to_json(job.outputs)},
          {"models", to_json(job.models)},
          {"nodes", job.nodes},
          {"launcher", to_text(job.launcher)},
          {"processes", job.processes},
          {"resources", to_json(job.resources)},
          {"priority", to_text(job.priority)},
          {"timeout_seconds", seconds_of(job.timeout)},
          {"grace_seconds", seconds_of(job.grace)},
          {"max_attempts", job.max_attempts},
          {"git", to_json(job.git)}};
}

Result<Job> job_from_json(const json::object& object) {
  Job job;
  double timeout = 0;
  double grace = static_cast<double>(job.grace.count()) / 1e6;
  std::string launcher = "none";
  std::string priority(to_text(job.priority));
  json::object resources;
  json::object git;
  json::object inputs;
  json::object outputs;
  JsonFields fields(object, "the job");
  fields.optional("experiment", job.experiment);
  fields.optional("display_name", job.display_name);
  fields.optional("compute", job.compute);
  fields.optional("environment", job.environment);
  fields.required("command", job.command);
  fields.optional("snapshot", job.snapshot);
  fields.optional("tags", job.tags);
  fields.optional("variables", job.variables);
  fields.optional("inputs", inputs);
  fields.optional("outputs", outputs);
  fields.optional("models", job.models);
  fields.optional("nodes", job.nodes);
  fields.optional("launcher", launcher);
  fields.optional("processes", job.processes);
  fields.optional("resources", resources);
  fields.optional("priority", priority);
  fields.optional("timeout_seconds", timeout);
  fields.optional("grace_seconds", grace);
  fields.optional("max_attempts", job.max_attempts);
  fields.optional("git", git);
  SLIPWAY_TRY(fields.finish());
  SLIPWAY_ASSIGN(job.launcher, parse_launcher(launcher));
  SLIPWAY_ASSIGN(job.resources, resources_from_json(resources));
  SLIPWAY_ASSIGN(job.priority, job_priority_from_text(priority));
  SLIPWAY_ASSIGN(job.inputs, job_inputs_from_json(inputs));
  SLIPWAY_ASSIGN(job.outputs, job_outputs_from_json(outputs));
  SLIPWAY_ASSIGN(job.git, git_from_json(git));
  SLIPWAY_ASSIGN(job.timeout, duration_from(timeout, "timeout_seconds", kMaxSeconds));
  SLIPWAY_ASSIGN(job.grace, duration_from(grace, "grace_seconds", kMaxGraceSeconds));
  SLIPWAY_TRY(check_texts(job));
  SLIPWAY_TRY(check_bounds(job));
  SLIPWAY_TRY(check_command(job.command));
  SLIPWAY_TRY(check_variables(job.variables));
  SLIPWAY_TRY(check_tags(job.tags));
  SLIPWAY_TRY(check_job_models(job.models));
  return job;
}

}  // namespace slipway
