// All processes of one attempt, whatever they fork and however they detach: so that a signal reaches every
// one of them, nothing is left behind, and what they use is known.
//
// Where the machine lets us make cgroups, the group is one named slipway-<mark> in each hierarchy that is of
// use (v2, or v1 beside it); elsewhere the processes are found by the mark that each inherits in its
// environment.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cgroup_places.h"
#include "base/clock.h"
#include "base/result.h"
#include "launch/spec.h"

namespace slipway::node {

// Not thread-safe.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  // Where a new process comes in, owned by the group: it is born in `folder` (clone3), or else writes "0" to
  // `file` before it executes anything. -1: there is no such way.
  struct Entrance {
    int folder = -1;
    int file = -1;
  };
  virtual Entrance entrance() const = 0;
  // Puts on the limits that are not on yet. May take some 10 ms: for jobs that live longer.
  virtual void bound() = 0;
  // To every process once.
  virtual void signal_all(int signal) = 0;
  // SIGKILL to every process, also to those being forked meanwhile. They may still be dying on return.
  virtual void kill_all() = 0;
  // Zombies do not count.
  virtual bool is_empty() = 0;

  // nullopt: not known here.
  virtual std::optional<Duration> cpu_time() = 0;
  virtual std::optional<uint64_t> memory_bytes() = 0;
  virtual uint64_t out_of_memory_kills() = 0;

  // Takes the group away; its processes must be gone. Repeated while the kernel still tidies up, for a short
  // time.
  virtual void remove() = 0;
  // The cgroups it consists of; none when it is found by mark.
  virtual std::vector<std::filesystem::path> folders() const = 0;
};

// The best group this machine allows. Limits that cannot be set are left out: the job runs without them.
std::unique_ptr<ProcessGroup> make_process_group(const std::string& mark,
                                                 const launch::ProcessLimits& limits);

// A group of cgroups in the given places; null when none can be made there.
std::unique_ptr<ProcessGroup> make_cgroup_group(const CgroupPlaces& places, const std::string& mark,
                                                const launch::ProcessLimits& limits);

// The group found by mark alone.
std::unique_ptr<ProcessGroup> make_marked_group(const std::string& mark);

// Kills and removes what is left of the group of a dead supervisor: every cgroup of its name, wherever on
// this machine it was made, and every process with the mark. kTimeout: some process would not die.
Status end_group(const std::string& mark);

// Removes the groups without a process, made where this process would make its own, that are older than that:
// left when a supervisor and its folder went together. A group in use always holds a process but for its
// first and last moments.
void sweep_empty_groups(Duration older_than, const CgroupPlaces& places = find_cgroup_places());

}  // namespace slipway::node
