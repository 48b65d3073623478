// Room for jobs' limits around this process itself.
#pragma once

namespace slipway::node {

// On a machine with cgroups v2 a cgroup that holds processes cannot limit its children. Where no folder above
// this process's cgroup gives limits, but the cgroup has controllers and holds Slipway's own programs alone
// (a service or scope with Delegate=yes, a container), the programs move into a leaf of it, and jobs get
// their groups with limits beside that. Called before other threads and programs are started; does nothing
// where nothing can be done.
void make_room_for_limits();

}  // namespace slipway::node
