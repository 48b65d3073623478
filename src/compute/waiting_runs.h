// The runs that wait for one cluster's nodes, in the order of their sequence numbers (the order of
// submission): a run that comes back after its node was lost takes its old place. Not thread-safe: owned by
// the orchestrator.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/ids.h"
#include "protocol/job.h"

namespace slipway::compute {

struct WaitingRun {
  int64_t seq = 0;
  RunId run;
  Resources asked;  // on each node; see share_of
  int nodes = 1;
};

class WaitingRuns {
 public:
  // False: it waits already.
  bool add(WaitingRun run);
  // False: it does not wait.
  bool remove(int64_t seq);
  bool contains(int64_t seq) const { return position(seq).has_value(); }
  // How many wait before it; nullopt: it does not wait.
  std::optional<size_t> position(int64_t seq) const;

  size_t size() const { return runs_.size(); }
  bool empty() const { return runs_.empty(); }
  const WaitingRun& operator[](size_t index) const { return runs_[index]; }
  auto begin() const { return runs_.begin(); }
  auto end() const { return runs_.end(); }

 private:
  std::deque<WaitingRun> runs_;  // ascending by seq; runs leave mostly at the front
};

}  // namespace slipway::compute
