// What a process holds in memory.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace slipway::node {

// Pages shared with others count in full. 0: there is no such process.
uint64_t resident_bytes(pid_t pid);

}  // namespace slipway::node
