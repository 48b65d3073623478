// The supervisor of one attempt: starts the job, sees all of it, and writes what it saw to the journal. It
// outlives agent and server; nothing reaches it but its folder, and nothing leaves it but the journal.
//
// The folder (ARCHITECTURE.md, "Files on disk"): spec.json is its order, lock says that it lives, journal/ is
// its account, cancel.json asks it to end the job. Its last record is the exit record; then it is done.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway::node {

// Runs the attempt ordered in `folder`/spec.json until its end; called by `slipway supervise DIR` and nothing
// else, since it takes over the signals and children of the whole process. An error only when no account of
// the attempt could be kept: kConflict when another supervisor holds the lock, or when the journal has ended
// already.
Status supervise(const std::string& folder);

// What the agent does about an attempt whose supervisor is dead without an exit record: kills every process
// it left (by cgroup and by mark), removes cgroup and socket, cuts a torn journal and closes it with an exit
// record that gives `reason`. Safe to repeat; the exit record of a supervisor that ended by itself stays.
// kConflict: the supervisor lives.
Status end_orphans(const std::string& folder, std::string_view reason);

}  // namespace slipway::node
