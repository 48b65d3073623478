// The order of one supervisor: spec.json in the attempt's folder. It says which processes to start and
// within what bounds, so that the supervisor knows nothing of runs, launchers or the server.
//
// The file is the intention: it is there, whole, before the supervisor is started. It is not synced: a power
// loss that takes it takes the processes too, and the server orders the attempt again. It holds the run's
// token (in the environment and in the order) and so is 0600.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "protocol/node.h"

namespace slipway::launch {

// The variable whose value, the spec's mark, every process of the attempt inherits: where there is no cgroup,
// processes that left the session are found by it.
constexpr std::string_view kMarkVariable = "SLIPWAY_MARK";

// Zero: no bound.
struct ProcessLimits {
  uint64_t memory_bytes = 0;
  double cpus = 0;
  int pids = 0;
  bool operator==(const ProcessLimits&) const = default;
};

// A folder of which the job gets a copy of its own that costs nothing until it writes there. All absolute.
struct Overlay {
  std::string folder;
  std::string upper;  // where what it writes goes
  std::string work;   // the kernel's own, on the same file system
  bool operator==(const Overlay&) const = default;
};

// Another file system for the job: a private copy of the files of an image, with places of this machine in
// it.
struct Root {
  Overlay files;                   // files.folder: what the image unpacked to
  std::string mount;               // an empty folder, where it is put together
  std::vector<std::string> binds;  // folders and files of this machine that appear at the same places in it
  uint64_t shm_bytes = 0;          // of /dev/shm; 0: the system's half of the memory
  bool operator==(const Root&) const = default;
};

// One process of the attempt on this node.
struct ProcessSpec {
  int rank = 0;                   // among the processes of the whole run
  std::vector<std::string> argv;  // argv[0] is looked up in the environment's PATH, from `work`
  std::map<std::string, std::string> environment = {};  // over that of the spec
  std::string log = "std_log.txt";                      // the stream of what it prints
  std::string name = "";                                // in reasons; empty: "rank N"
  bool operator==(const ProcessSpec&) const = default;
};

// A rank that something else on this node starts (mpirun does): it prints into FIFOs, `path`.out and
// `path`.err, which the supervisor makes and reads.
struct RankPipe {
  int rank = 0;
  std::string path;
  std::string log;
  bool operator==(const RankPipe&) const = default;
};

// When the processes of a node are done. In either case the first that fails ends the others.
enum class EndRule {
  kAll,     // all have ended
  kLeader,  // that of rank 0 has ended well: the others, which may wait for ever, are ended
};

struct SupervisorSpec {
  AttemptKey key;
  std::string mark;                    // unique to the attempt; also stands in `environment`
  std::vector<ProcessSpec> processes;  // at least one
  std::vector<RankPipe> pipes;
  int process_count = 1;  // of the whole run: of several, a reason names the rank and quotes its last lines
  EndRule end_rule = EndRule::kAll;
  std::map<std::string, std::string> files;        // written before the start: absolute path, content
  std::map<std::string, std::string> environment;  // all of it: the supervisor adds nothing
  std::string work;                                // absolute: the working folder, there before the start
  std::string socket;  // absolute, at most 107 bytes: the in-job socket; its folder is there
  ProcessLimits limits;
  Duration timeout{0};                        // of the running process; 0: none
  Duration grace = std::chrono::seconds(10);  // between SIGTERM and SIGKILL
  uint64_t log_quota_bytes = 0;               // of all log streams together; 0: none
  std::vector<int> gpu_indices;               // whose use is sampled
  std::vector<Overlay> overlays;              // in a mount namespace of the attempt's own
  std::optional<Root> root;                   // the same; argv[0] is looked up there
  // Where data is to be mounted before the start. What is behind each place comes with the supervisor's
  // standard input and is nowhere on disk: it holds credentials.
  std::vector<std::string> mounts;
  bool operator==(const SupervisorSpec&) const = default;
};

// {"key": {run, attempt, rank}, "mark", "processes": [{"rank", "argv": [], "environment": {}, "log",
// "name"}],
//  "pipes": [{"rank", "path", "log"}], "process_count", "end_rule", "files": {}, "environment": {}, "work",
//  "socket", "limits": {"memory_bytes", "cpus", "pids"}, "timeout_seconds", "grace_seconds",
//  "log_quota_bytes", "gpu_indices": [], "overlays": [{"folder", "upper", "work"}], "root": {"files": {...},
//  "mount", "binds": [], "shm_bytes"}, "mounts": []}
json::object to_json(const SupervisorSpec& spec);
// Fields this program does not know are let pass: a newer agent may have written them.
Result<SupervisorSpec> supervisor_spec_from_json(const json::object& object);

// `folder`/spec.json: the spec, and the whole order below "order" for the agent that re-attaches.
Status write_spec(const std::filesystem::path& folder, const SupervisorSpec& spec, const AttemptOrder& order);
// kNotFound when there is none.
Result<SupervisorSpec> read_spec(const std::filesystem::path& folder);
Result<AttemptOrder> read_order(const std::filesystem::path& folder);

}  // namespace slipway::launch
