// Starts a process of the job.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launch/spec.h"
#include "node/process_group.h"

namespace slipway::node {

struct StartedProcess {
  pid_t pid = -1;
  UniqueFd out;  // its stdout and stderr: not blocking
  UniqueFd err;
};

// In a session of its own, in spec.work, with exactly spec.environment and over it that of the process, stdin
// from /dev/null, no other descriptor, no way to gain privileges, inside the group of `entrance`; it dies
// when this process does. The error is a sentence for the user: kNotFound (there is no such program) or
// kInvalidArgument (it cannot be executed).
Result<StartedProcess> start_process(const launch::SupervisorSpec& spec, const launch::ProcessSpec& process,
                                     ProcessGroup::Entrance entrance);

// The file that `program` means for a process with this PATH in this folder.
Result<std::string> find_program(const std::string& program, const std::string& path,
                                 const std::string& work);

}  // namespace slipway::node
