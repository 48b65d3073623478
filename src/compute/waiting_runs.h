// The runs that wait for one cluster's nodes. Those with the higher rank come first (standing.h), and of one
// rank those that wait for longer; a run that comes back after its node was lost has its old place. Since
// ranks rise with time, the order is that of a moment. Not thread-safe: owned by the orchestrator.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "base/clock.h"
#include "base/ids.h"
#include "protocol/job.h"

namespace slipway::compute {

struct WaitingRun {
  int64_t seq = 0;
  RunId run;
  Resources asked;  // on each node; see share_of
  int nodes = 1;
  JobPriority priority = JobPriority::kNormal;
  Timestamp since = {};  // of its waiting
};

// The moment that an order is of.
struct Moment {
  Timestamp now;
  Duration ageing{0};  // 0: nothing ages
};

class WaitingRuns {
 public:
  // False: it waits already.
  bool add(WaitingRun run);
  // False: it does not wait.
  bool remove(int64_t seq);
  bool contains(int64_t seq) const { return places_.contains(seq); }
  // Null: it does not wait. Valid until the next change.
  const WaitingRun* find(int64_t seq) const;
  // How many wait before it; nullopt: it does not wait.
  std::optional<size_t> position(int64_t seq, const Moment& moment) const;

  size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }

  // Goes through the runs in their order, at no cost for those that are not reached. Valid until the next
  // change.
  class Cursor {
   public:
    const WaitingRun* next();  // null: that was all

   private:
    friend class WaitingRuns;
    Cursor(const WaitingRuns& queue, const Moment& moment) : queue_(queue), moment_(moment) {}
    const WaitingRuns& queue_;
    const Moment moment_;
    std::array<size_t, 3> at_{};
  };
  Cursor in_order(const Moment& moment) const { return {*this, moment}; }

 private:
  // Of one priority: longest waiting first, then by seq. Along it ranks only fall, so that a merge of the
  // three is in order. Runs leave mostly at the front.
  using Line = std::deque<WaitingRun>;
  static bool goes_before(const WaitingRun& a, const WaitingRun& b, const Moment& moment);
  Line& line_of(JobPriority priority) { return lines_[static_cast<size_t>(priority)]; }

  std::array<Line, 3> lines_;
  std::map<int64_t, std::pair<JobPriority, Timestamp>> places_;  // by seq
};

}  // namespace slipway::compute
