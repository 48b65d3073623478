#include "runs/transitions.h"

#include <fmt/format.h>

#include "base/failpoint.h"
#include "runs/run_table.h"

namespace slipway::runs {
namespace {

// It waits again. A short stretch of running does not set back for how long it has waited.
void wait_again(Run& run, bool preempted, Timestamp now, Duration ageing) {
  if (run.gives_way_to || preempted) {
    ++run.preemptions;
    const bool has_run = run.started_at && now.micros - run.started_at->micros >= ageing.count();
    if (has_run) run.waiting_since = now;
  }
  run.gives_way_to.reset();
  run.started_at.reset();
  run.exit_code.reset();
}

// What the new state means for the fields of the run.
void move(Run& run, const Event& event, const Decision& decision, Timestamp now, Duration ageing) {
  if (event.kind == EventKind::kPreemptionAsked) run.gives_way_to = event.by;
  if (decision.next == RunState::kNotResponding && run.state != decision.next) run.resume_state = run.state;
  run.state = decision.next;
  if (run.state == RunState::kRunning && !run.started_at) run.started_at = now;
  if (run.state == RunState::kQueued) wait_again(run, event.kind == EventKind::kPreempted, now, ageing);
  if (is_final(run.state)) {
    run.gives_way_to.reset();
    run.ended_at = now;
    run.reason = decision.reason;
  }
}

}  // namespace

std::string run_topic(const RunId& run) {
  return "run:" + run.str();
}
std::string node_topic(const NodeId& node) {
  return "node:" + node.str();
}

Result<Verdict> Transitions::apply(store::Writer& writer, Run& run, const Event& event) const {
  const RunState before = run.state;
  const Decision decision = decide({.state = run.state,
                                    .resume_state = run.resume_state,
                                    .attempt = run.attempt,
                                    .max_attempts = run.job.max_attempts,
                                    .preemptions = run.preemptions,
                                    .gives_way = run.gives_way_to.has_value(),
                                    .interactive = run.type == RunType::kInteractive},
                                   event);
  if (decision.verdict == Verdict::kIgnore) return decision.verdict;
  if (decision.verdict == Verdict::kRefuse)
    return fail(ErrorCode::kConflict, fmt::format("{}: {}", run.id, decision.reason));

  const Timestamp now = clock_.now();
  move(run, event, decision, now, ageing_);
  if (event.kind == EventKind::kPlaced) ++run.attempt;
  SLIPWAY_FAILPOINT("run.before_transition");
  SLIPWAY_TRY(store_transition(writer, run,
                               {.seq = 0,
                                .time = now,
                                .kind = std::string(to_text(event.kind)),
                                .state = run.state,
                                .attempt = run.attempt,
                                .reason = decision.reason}));
  SLIPWAY_TRY(carry_out(writer, run, decision));
  if (is_final(run.state) && run.type == RunType::kJob) SLIPWAY_TRY(end_interactive_family(writer, run));
  SLIPWAY_FAILPOINT("run.after_transition");
  if (before == RunState::kQueued) writer.after_commit([this, run] { observer_.run_waits_no_more(run); });
  if (holds_nodes(run.state) && event.kind != EventKind::kPlaced && run.type == RunType::kJob)
    writer.after_commit([this, run] { observer_.attempt_moved(run); });
  writer.after_commit([this, topic = run_topic(run.id)] { notifier_.notify(topic); });
  return decision.verdict;
}

Status Transitions::carry_out(store::Writer& writer, const Run& run, const Decision& decision) const {
  if ((decision.effects & (kCancelAttempt | kFenceAttempt)) != 0) {
    SLIPWAY_ASSIGN(auto parts, parts_of_attempt(writer, run.id, run.attempt));
    if ((decision.effects & kCancelAttempt) != 0)
      SLIPWAY_TRY(
          order_cancel(writer, run.id, run.attempt, {.reason = decision.reason, .grace = run.job.grace}));
    if ((decision.effects & kFenceAttempt) != 0) {
      SLIPWAY_TRY(fence_parts(writer, run.id, run.attempt));
      writer.after_commit([this, run] { observer_.attempt_is_over(run); });
    }
    for (const Part& part : parts)
      writer.after_commit([this, topic = node_topic(part.node)] { notifier_.notify(topic); });
  }
  if ((decision.effects & kEnqueue) != 0) writer.after_commit([this, run] { observer_.run_waits(run); });
  return {};
}

Status Transitions::cancel(store::Writer& writer, Run& run, const std::string& reason) const {
  if (auto verdict = apply(writer, run, {.kind = EventKind::kCancelAsked, .reason = reason, .outcome = {}});
      !verdict)
    return fail(std::move(verdict).error());
  SLIPWAY_ASSIGN(std::vector<Run> family, active_descendants(writer, run.id));
  for (Run& below : family) {
    auto verdict = apply(writer, below,
                         {.kind = EventKind::kCancelAsked,
                          .reason = fmt::format("{}, with {}", reason, run.id),
                          .outcome = {}});
    if (!verdict) return fail(std::move(verdict).error());
  }
  return {};
}

// The interactive runs below a job were its script's: with the script's token gone, nobody would end them.
// Jobs that it has submitted go on by themselves.
Status Transitions::end_interactive_family(store::Writer& writer, const Run& job) const {
  SLIPWAY_ASSIGN(std::vector<Run> family, active_descendants(writer, job.id));
  for (Run& below : family) {
    if (below.type != RunType::kInteractive) continue;
    const EventKind kind = job.state == RunState::kCompleted ? EventKind::kClosed
                           : job.state == RunState::kFailed  ? EventKind::kGivenUp
                                                             : EventKind::kCancelAsked;
    auto verdict = apply(writer, below,
                         {.kind = kind,
                          .reason = fmt::format("{} above it is {}", job.id, to_text(job.state)),
                          .outcome = {}});
    if (!verdict) return fail(std::move(verdict).error());
  }
  return {};
}

Result<Verdict> Transitions::preempt(store::Writer& writer, Run& run, const Run& by) const {
  const bool same_cluster = by.workspace == run.workspace && by.job.compute == run.job.compute;
  SLIPWAY_ASSIGN(
      const Verdict verdict,
      apply(writer, run,
            {.kind = EventKind::kPreemptionAsked,
             .reason = same_cluster
                           ? fmt::format("gives way to {} (priority {})", by.id, to_text(by.job.priority))
                           : fmt::format("gives way to {} on {}, since {} has low priority", by.id,
                                         by.job.compute, run.job.compute),
             .outcome = {},
             .by = by.id}));
  if (verdict == Verdict::kIgnore) return verdict;
  SLIPWAY_TRY(store_transition(writer, by,
                               {.seq = 0,
                                .time = clock_.now(),
                                .kind = "room-asked",
                                .state = by.state,
                                .attempt = by.attempt,
                                .reason = fmt::format("{} gives way to it", run.id)}));
  writer.after_commit([this, topic = run_topic(by.id)] { notifier_.notify(topic); });
  return verdict;
}

Result<Verdict> Transitions::place(store::Writer& writer, Run& run, std::vector<Part>& parts) const {
  std::string nodes;
  for (const Part& part : parts) nodes += fmt::format("{}{}", nodes.empty() ? "" : ", ", part.node);
  SLIPWAY_ASSIGN(
      const Verdict verdict,
      apply(writer, run, {.kind = EventKind::kPlaced, .reason = fmt::format("on {}", nodes), .outcome = {}}));
  if (verdict != Verdict::kMove) return verdict;
  int rank = 0;
  for (Part& part : parts) {
    part.run_seq = run.seq;
    part.key = {.run = run.id, .attempt = run.attempt, .rank = rank++};
    SLIPWAY_TRY(insert_part(writer, part, clock_.now()));
    writer.after_commit([this, topic = node_topic(part.node)] { notifier_.notify(topic); });
  }
  writer.after_commit([this, run, parts] { observer_.run_placed(run, parts); });
  return verdict;
}

}  // namespace slipway::runs
