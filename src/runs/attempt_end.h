// How an attempt ends whose nodes have all said that they are done with it.
#pragma once

#include <vector>

#include "runs/transitions.h"

namespace slipway::runs {

// Whether all parts are finished.
bool all_finished(const std::vector<Part>& parts);

// Makes the run final by what its processes came to. `parts` are those of its present attempt, all finished.
Status conclude(store::Writer& writer, const Transitions& transitions, Run& run,
                const std::vector<Part>& parts, Timestamp now);

}  // namespace slipway::runs
