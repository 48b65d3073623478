// Runs coming into the store, whoever asked for them.
#pragma once

#include "runs/run.h"
#include "store/database.h"

namespace slipway::runs {

// How many runs may stand above one.
constexpr int kDeepestFamily = 32;

// Gives the run its id and its root and stores it with its experiment; its first event is the caller's.
// kNotFound when its parent is not in its workspace, kConflict when that one has been canceled or is to be,
// kInvalidArgument when too many stand above it.
Status add_run(store::Writer& writer, Run& run);

}  // namespace slipway::runs
