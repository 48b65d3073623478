#include "compute/waiting_runs.h"

#include <algorithm>

namespace slipway::compute {

bool WaitingRuns::add(WaitingRun run) {
  if (runs_.empty() || runs_.back().seq < run.seq) {
    runs_.push_back(std::move(run));
    return true;
  }
  const auto place = std::ranges::lower_bound(runs_, run.seq, {}, &WaitingRun::seq);
  if (place->seq == run.seq) return false;
  runs_.insert(place, std::move(run));
  return true;
}

bool WaitingRuns::remove(int64_t seq) {
  const auto found = position(seq);
  if (!found) return false;
  runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(*found));
  return true;
}

std::optional<size_t> WaitingRuns::position(int64_t seq) const {
  const auto found = std::ranges::lower_bound(runs_, seq, {}, &WaitingRun::seq);
  if (found == runs_.end() || found->seq != seq) return std::nullopt;
  return static_cast<size_t>(found - runs_.begin());
}

}  // namespace slipway::compute
