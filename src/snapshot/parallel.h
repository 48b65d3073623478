// The same work on several things at once.
#pragma once

#include <functional>

#include "base/result.h"

namespace slipway::snapshot {

// Calls `work(worker, index)` for each index below `count`, in their order, on up to `workers` threads, this
// one among them; `worker` tells the threads apart, from 0. After a failure nothing new is begun, and the
// first one is returned. Returns when all have ended.
Status parallel_for(size_t count, size_t workers,
                    const std::function<Status(size_t worker, size_t index)>& work);

}  // namespace slipway::snapshot
