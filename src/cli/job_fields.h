// A job as a person describes it, by a file, by flags or by both: before it is a Job.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/command.h"
#include "protocol/job.h"

namespace slipway::cli {

// What was said; what was not said is absent.
struct JobFields {
  std::optional<std::vector<std::string>> command;
  std::optional<std::string> source;
  std::optional<std::string> experiment;
  std::optional<std::string> name;
  std::optional<std::string> compute;
  std::optional<std::string> environment;
  std::optional<int> nodes;
  std::optional<std::string> launcher;
  std::optional<int> processes;
  std::optional<std::string> priority;
  std::optional<int> attempts;
  std::optional<int> restarts;
  std::optional<Duration> timeout;
  std::optional<Duration> grace;
  std::optional<double> cpus;
  std::optional<ByteCount> memory;
  std::optional<int> gpus;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> variables;
  JobInputs inputs;
  JobOutputs outputs;
  std::vector<std::string> models;
};

// `over` wins; tags, variables, inputs, outputs and models are joined.
JobFields overlay(JobFields base, JobFields over);

// The job without its snapshot and git state; checked as the server checks it, so that a bad name is said
// before anything is sent.
Result<Job> to_job(const JobFields& fields);

}  // namespace slipway::cli
