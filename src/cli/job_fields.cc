#include "cli/job_fields.h"

namespace slipway::cli {
namespace {

template <class T>
void take(std::optional<T>& base, std::optional<T>& over) {
  if (over) base = std::move(over);
}

}  // namespace

JobFields overlay(JobFields base, JobFields over) {
  take(base.command, over.command);
  take(base.source, over.source);
  take(base.experiment, over.experiment);
  take(base.name, over.name);
  take(base.compute, over.compute);
  take(base.environment, over.environment);
  take(base.nodes, over.nodes);
  take(base.launcher, over.launcher);
  take(base.processes, over.processes);
  take(base.priority, over.priority);
  // Two ways to say one thing: what is said later wins in either form.
  if (over.attempts || over.restarts) base.attempts = base.restarts = std::nullopt;
  take(base.attempts, over.attempts);
  take(base.restarts, over.restarts);
  take(base.timeout, over.timeout);
  take(base.grace, over.grace);
  take(base.cpus, over.cpus);
  take(base.memory, over.memory);
  take(base.gpus, over.gpus);
  for (auto& [key, value] : over.tags) base.tags[key] = std::move(value);
  for (auto& [key, value] : over.variables) base.variables[key] = std::move(value);
  for (auto& [key, value] : over.inputs) base.inputs[key] = std::move(value);
  for (auto& [key, value] : over.outputs) base.outputs[key] = std::move(value);
  for (std::string& model : over.models) base.models.push_back(std::move(model));
  return base;
}

Result<Job> to_job(const JobFields& fields) {
  Job job;
  if (fields.command) job.command = *fields.command;
  if (fields.experiment) job.experiment = ExperimentName(*fields.experiment);
  if (fields.name) job.display_name = *fields.name;
  if (fields.compute) job.compute = ClusterName(*fields.compute);
  if (fields.environment) job.environment = *fields.environment;
  if (fields.nodes) job.nodes = *fields.nodes;
  if (fields.launcher) {
    SLIPWAY_ASSIGN(job.launcher, parse_launcher(*fields.launcher));
  }
  if (fields.processes) job.processes = *fields.processes;
  if (fields.priority) {
    SLIPWAY_ASSIGN(job.priority, job_priority_from_text(*fields.priority));
  }
  if (fields.attempts && fields.restarts)
    return fail(ErrorCode::kInvalidArgument, "attempts and restarts are both given",
                "they say the same: 2 restarts are 3 attempts; leave one out");
  if (fields.attempts) job.max_attempts = *fields.attempts;
  if (fields.restarts) job.max_attempts = *fields.restarts + 1;
  if (fields.timeout) job.timeout = *fields.timeout;
  if (fields.grace) job.grace = *fields.grace;
  if (fields.cpus) job.resources.cpus = *fields.cpus;
  if (fields.memory) job.resources.memory_bytes = fields.memory->bytes;
  if (fields.gpus) job.resources.gpus = *fields.gpus;
  job.tags = fields.tags;
  job.variables = fields.variables;
  job.inputs = fields.inputs;
  job.outputs = fields.outputs;
  job.models = fields.models;
  return job_from_json(to_json(job));
}

}  // namespace slipway::cli
