// How much memory this process and those it starts may use together, by its control groups. A group that goes
// beyond its limit is killed as a whole, the server with it: so what takes much asks first.
#pragma once

#include <cstdint>
#include <optional>

#include "base/cgroup_places.h"

namespace slipway::serving {

// The smallest limit of its groups and of those above them; nullopt: there is none.
std::optional<uint64_t> memory_room();
// The same of a process that is in these.
std::optional<uint64_t> memory_room(const CgroupPlaces& own);

}  // namespace slipway::serving
