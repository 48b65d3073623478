// What the orchestrator makes of an engine's word about an allocation: the true end of the run on it.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "runs/attempt_end.h"
#include "runs/orchestrator.h"
#include "runs/run_table.h"

namespace slipway::runs {

using compute::AllocationEnd;
using compute::AllocationKey;

namespace {

// Whether nothing was missing when the allocation ended, and it was not ended before its processes were.
bool ended_by_itself(const std::vector<Part>& parts, AllocationEnd end) {
  if (!all_finished(parts)) return false;
  return std::ranges::all_of(parts, [&](const Part& part) {
    const bool stopped = part.exit->canceled && !part.cancel;
    return part.exit->good() || (end == AllocationEnd::kDone && !stopped) || part.cancel;
  });
}

}  // namespace

void Orchestrator::allocation_event(const compute::AllocationEvent& event) {
  using Kind = compute::AllocationEventKind;
  Allocation allocation;
  {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(event.key);
    if (found == allocations_.end()) return;
    if (event.kind == Kind::kGone) {
      found->second.gone = event.end;
      found->second.over = true;
      wake(found->second.stored.cluster);
      return;
    }
    allocation = found->second;
  }
  switch (event.kind) {
    case Kind::kAccepted: return;
    case Kind::kRefused:
      if (const Status ended = end_waiting_run(event.key.run, EventKind::kEndedOutside, event.reason); !ended)
        log_error("allocation.refusal_not_told", {{"run", event.key.run}, {"error", ended.error()}});
      return;
    case Kind::kEnded: return allocation_ended(event, allocation);
    case Kind::kGone: return;
  }
}

void Orchestrator::allocation_ended(const compute::AllocationEvent& event, const Allocation& allocation) {
  log_info("allocation.ended",
           {{"run", event.key.run}, {"attempt", event.key.attempt}, {"why", event.reason}});
  Status done;
  if (allocation.placed) {
    done = settle(event);
  } else if (event.end == AllocationEnd::kCanceled) {
    done = end_waiting_run(event.key.run, EventKind::kCanceledOutside, event.reason);
  } else if (event.end == AllocationEnd::kOverTime) {
    done = end_waiting_run(event.key.run, EventKind::kEndedOutside, event.reason);
  } else if (event.end != AllocationEnd::kPreempted) {
    start_failed(allocation.stored.cluster, fmt::format("{} before its agents came up", event.reason));
  }
  if (!done) log_error("allocation.end_not_told", {{"run", event.key.run}, {"error", done.error()}});
  const std::lock_guard lock(mutex_);
  note_allocation_over(event.key);
}

Status Orchestrator::end_waiting_run(const RunId& id, EventKind kind, const std::string& reason) {
  return database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(Run run, load_run(writer, id));
    if (run.state != RunState::kQueued) return {};
    auto verdict = transitions_.apply(writer, run, {.kind = kind, .reason = reason, .outcome = {}});
    if (!verdict) return fail(std::move(verdict).error());
    return {};
  });
}

// What the engine's word means for a run that was placed on the allocation.
Status Orchestrator::settle(const compute::AllocationEvent& event) {
  return database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(Run run, load_run(writer, event.key.run));
    if (run.attempt != event.key.attempt || is_final(run.state)) return {};
    EventKind kind = EventKind::kNodeLost;
    switch (event.end) {
      case AllocationEnd::kPreempted: kind = EventKind::kPreempted; break;
      case AllocationEnd::kOverTime: kind = EventKind::kEndedOutside; break;
      case AllocationEnd::kCanceled: kind = EventKind::kCanceledOutside; break;
      case AllocationEnd::kDone:
      case AllocationEnd::kLost: {
        SLIPWAY_ASSIGN(const auto parts, parts_of_attempt(writer, run.id, run.attempt));
        if (ended_by_itself(parts, event.end))
          return conclude(writer, transitions_, run, parts, clock_.now());
        break;
      }
    }
    auto verdict = transitions_.apply(writer, run, {.kind = kind, .reason = event.reason, .outcome = {}});
    if (!verdict) return fail(std::move(verdict).error());
    return {};
  });
}

bool Orchestrator::may_be_ended_by_engine(const AttemptKey& key) const {
  const AllocationKey allocation{.run = key.run, .attempt = key.attempt};
  std::shared_ptr<compute::Allocator> allocator;
  {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(allocation);
    if (found == allocations_.end() || found->second.over || found->second.gone) return false;
    const auto cluster = clusters_.find(found->second.stored.cluster);
    if (cluster == clusters_.end()) return false;
    allocator = cluster->second.allocator;
  }
  return allocator != nullptr && !allocator->goes_on(allocation);
}

}  // namespace slipway::runs
