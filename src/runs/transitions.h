// Applies events to runs: the decision, the new state, its event and its effects in one transaction.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/notifier.h"
#include "runs/attempt_table.h"
#include "runs/lifecycle.h"
#include "runs/run.h"
#include "store/database.h"

namespace slipway::runs {

// Told after a commit, on the writer's thread: must only note it down. Everything told here can also be read
// from the store, which is what happens after a restart.
class TransitionObserver {
 public:
  virtual ~TransitionObserver() = default;
  virtual void run_waits(const Run& run) = 0;
  virtual void run_waits_no_more(const Run& run) = 0;
  // It has its nodes.
  virtual void run_placed(const Run& run, const std::vector<Part>& parts) = 0;
  // It has nodes, and has started, or was told to end.
  virtual void attempt_moved(const Run& run) = 0;
  // The present attempt holds nothing any more.
  virtual void attempt_is_over(const Run& run) = 0;
};

// The topics that change with a run and with a node's orders.
std::string run_topic(const RunId& run);
std::string node_topic(const NodeId& node);

// Thread-safe: it has no state of its own.
class Transitions {
 public:
  // `ageing`: see compute/standing.h.
  Transitions(const Clock& clock, Notifier& notifier, TransitionObserver& observer, Duration ageing)
      : clock_(clock), notifier_(notifier), observer_(observer), ageing_(ageing) {}

  // Changes `run` and stores it. kConflict when a user asks for what cannot be; an event that is late or
  // repeated is ignored and says so in the verdict.
  Result<Verdict> apply(store::Writer& writer, Run& run, const Event& event) const;

  // Asks the run and all below it that have not ended to end. kConflict when the run itself has ended.
  Status cancel(store::Writer& writer, Run& run, const std::string& reason) const;

  // Tells the run to end for one that waits, of a higher rank; both time lines say so. The verdict is kIgnore
  // when it ends already.
  Result<Verdict> preempt(store::Writer& writer, Run& run, const Run& by) const;

  // Gives a waiting run its nodes: the event kPlaced and the orders for them. The verdict is kIgnore when it
  // no longer waits; then nothing is ordered. The parts' keys are filled in here.
  Result<Verdict> place(store::Writer& writer, Run& run, std::vector<Part>& parts) const;

 private:
  Status carry_out(store::Writer& writer, const Run& run, const Decision& decision) const;
  Status end_interactive_family(store::Writer& writer, const Run& job) const;

  const Clock& clock_;
  Notifier& notifier_;
  TransitionObserver& observer_;
  const Duration ageing_;
};

}  // namespace slipway::runs
