// What a user submits: the same shape in job files, in `POST .../runs` and in a run's record.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "protocol/data.h"
#include "protocol/launcher.h"
#include "protocol/model.h"
#include "protocol/priority.h"

namespace slipway {

// A share of one node. All zero means the whole node; otherwise CPUs or memory that are 0 follow, in
// proportion, what is named (compute/shares.h).
struct Resources {
  double cpus = 0;
  uint64_t memory_bytes = 0;
  int gpus = 0;
  bool operator==(const Resources&) const = default;
};

struct GitState {
  std::string commit;
  std::string branch;
  std::string remote;  // without credentials
  bool dirty = false;
  bool operator==(const GitState&) const = default;
};

struct Job {
  ExperimentName experiment{"default"};
  std::string display_name;
  ClusterName compute{"local"};
  std::string environment = "system";  // NAME, NAME:VERSION or curated/NAME; recorded with its version
  std::vector<std::string> command;    // passed to execve as it is, never to a shell
  std::string snapshot;                // digest of the source's manifest; empty: no source
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> variables;  // environment variables
  JobInputs inputs;
  JobOutputs outputs;
  std::vector<std::string> models;  // NAME or NAME:VERSION; recorded with their versions
  int nodes = 1;
  Launcher launcher;
  int processes = 1;    // on each node; see launcher.h
  Resources resources;  // on each node
  JobPriority priority = JobPriority::kNormal;
  Duration timeout{0};                        // of the running phase; 0: none
  Duration grace = std::chrono::seconds(10);  // between SIGTERM and SIGKILL
  int max_attempts = 3;                       // starts in all, when nodes are lost
  GitState git;                               // empty commit: not a repository
  bool operator==(const Job&) const = default;
};

// Times are written as seconds ("timeout_seconds", "grace_seconds"), memory as bytes ("memory_bytes").
json::object to_json(const Job& job);
// Checks every field: names, bounds, a non-empty command, NUL and '=' in variables.
Result<Job> job_from_json(const json::object& object);

json::object to_json(const Resources& resources);
Result<Resources> resources_from_json(const json::object& object);

}  // namespace slipway
