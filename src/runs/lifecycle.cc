#include "runs/lifecycle.h"

#include <fmt/format.h>

#include <array>

namespace slipway::runs {
namespace {

using enum RunState;
using enum EventKind;

constexpr Effects kEnd = kCancelAttempt | kFenceAttempt;

constexpr std::array kTable{
    Rule{kNotStarted, kAccepted, Guard::kAlways, kQueued, kEnqueue},
    Rule{kNotStarted, kOpened, Guard::kInteractive, kRunning, kNoEffect},
    Rule{kNotStarted, kCancelAsked, Guard::kAlways, kCanceled, kNoEffect},

    Rule{kQueued, kPlaced, Guard::kAlways, kPreparing, kNoEffect},
    Rule{kQueued, kCancelAsked, Guard::kAlways, kCanceled, kNoEffect},
    Rule{kQueued, kEndedOutside, Guard::kAlways, kFailed, kNoEffect},
    Rule{kQueued, kCanceledOutside, Guard::kAlways, kCanceled, kNoEffect},

    Rule{kPreparing, kPrepared, Guard::kAlways, kStarting, kNoEffect},
    Rule{kPreparing, kStarted, Guard::kAlways, kRunning, kNoEffect},
    Rule{kPreparing, kRankFailed, Guard::kAlways, kPreparing, kCancelAttempt},
    Rule{kPreparing, kLeaderDone, Guard::kAlways, kPreparing, kCancelAttempt},
    Rule{kPreparing, kExited, Guard::kAlways, kFinalizing, kNoEffect},
    Rule{kPreparing, kPreparationFailed, Guard::kAlways, kFailed, kEnd},
    Rule{kPreparing, kCancelAsked, Guard::kAlways, kCancelRequested, kCancelAttempt},
    Rule{kPreparing, kSilent, Guard::kAlways, kNotResponding, kNoEffect},
    Rule{kPreparing, kPreemptionAsked, Guard::kAlways, kPreparing, kCancelAttempt},
    Rule{kPreparing, kNodeLost, Guard::kAttemptsLeft, kQueued, kEnd | kEnqueue},
    Rule{kPreparing, kNodeLost, Guard::kNoAttemptLeft, kFailed, kEnd},
    Rule{kPreparing, kPreempted, Guard::kAlways, kQueued, kEnd | kEnqueue},
    Rule{kPreparing, kEndedOutside, Guard::kAlways, kFailed, kEnd},
    Rule{kPreparing, kCanceledOutside, Guard::kAlways, kCanceled, kEnd},

    Rule{kStarting, kStarted, Guard::kAlways, kRunning, kNoEffect},
    Rule{kStarting, kRankFailed, Guard::kAlways, kStarting, kCancelAttempt},
    Rule{kStarting, kLeaderDone, Guard::kAlways, kStarting, kCancelAttempt},
    Rule{kStarting, kExited, Guard::kAlways, kFinalizing, kNoEffect},
    Rule{kStarting, kPreparationFailed, Guard::kAlways, kFailed, kEnd},
    Rule{kStarting, kCancelAsked, Guard::kAlways, kCancelRequested, kCancelAttempt},
    Rule{kStarting, kSilent, Guard::kAlways, kNotResponding, kNoEffect},
    Rule{kStarting, kPreemptionAsked, Guard::kAlways, kStarting, kCancelAttempt},
    Rule{kStarting, kNodeLost, Guard::kAttemptsLeft, kQueued, kEnd | kEnqueue},
    Rule{kStarting, kNodeLost, Guard::kNoAttemptLeft, kFailed, kEnd},
    Rule{kStarting, kPreempted, Guard::kAlways, kQueued, kEnd | kEnqueue},
    Rule{kStarting, kEndedOutside, Guard::kAlways, kFailed, kEnd},
    Rule{kStarting, kCanceledOutside, Guard::kAlways, kCanceled, kEnd},

    Rule{kRunning, kRankFailed, Guard::kAlways, kRunning, kCancelAttempt},
    Rule{kRunning, kLeaderDone, Guard::kAlways, kRunning, kCancelAttempt},
    Rule{kRunning, kExited, Guard::kAlways, kFinalizing, kNoEffect},
    Rule{kRunning, kPreparationFailed, Guard::kAlways, kFailed, kEnd},
    Rule{kRunning, kCancelAsked, Guard::kOnNodes, kCancelRequested, kCancelAttempt},
    // Nobody has to be told: its client learns of it with its next request.
    Rule{kRunning, kCancelAsked, Guard::kInteractive, kCanceled, kNoEffect},
    Rule{kRunning, kClosed, Guard::kInteractive, kCompleted, kNoEffect},
    Rule{kRunning, kGivenUp, Guard::kInteractive, kFailed, kNoEffect},
    Rule{kRunning, kSilent, Guard::kAlways, kNotResponding, kNoEffect},
    Rule{kRunning, kPreemptionAsked, Guard::kOnNodes, kRunning, kCancelAttempt},
    Rule{kRunning, kNodeLost, Guard::kAttemptsLeft, kQueued, kEnd | kEnqueue},
    Rule{kRunning, kNodeLost, Guard::kNoAttemptLeft, kFailed, kEnd},
    Rule{kRunning, kPreempted, Guard::kAlways, kQueued, kEnd | kEnqueue},
    Rule{kRunning, kEndedOutside, Guard::kAlways, kFailed, kEnd},
    Rule{kRunning, kCanceledOutside, Guard::kAlways, kCanceled, kEnd},

    Rule{kFinalizing, kFinished, Guard::kSucceeded, kCompleted, kFenceAttempt},
    Rule{kFinalizing, kFinished, Guard::kDidNotSucceed, kFailed, kFenceAttempt},
    // A script that ended by itself before it heard of it has ended as it has; one that was stopped goes on
    // later.
    Rule{kFinalizing, kFinished, Guard::kGaveWay, kQueued, kFenceAttempt | kEnqueue},
    Rule{kFinalizing, kSilent, Guard::kAlways, kNotResponding, kNoEffect},
    // The script has ended, but its outputs are gone with the node: only another attempt brings them.
    Rule{kFinalizing, kNodeLost, Guard::kAttemptsLeft, kQueued, kEnd | kEnqueue},
    Rule{kFinalizing, kNodeLost, Guard::kNoAttemptLeft, kFailed, kEnd},
    Rule{kFinalizing, kPreempted, Guard::kAlways, kQueued, kEnd | kEnqueue},
    Rule{kFinalizing, kEndedOutside, Guard::kAlways, kFailed, kEnd},
    Rule{kFinalizing, kCanceledOutside, Guard::kAlways, kCanceled, kEnd},

    // A script that ends well in spite of the request is still a canceled run: the user asked for it.
    Rule{kCancelRequested, kExited, Guard::kAlways, kCancelRequested, kNoEffect},
    Rule{kCancelRequested, kFinished, Guard::kAlways, kCanceled, kFenceAttempt},
    Rule{kCancelRequested, kPreparationFailed, Guard::kAlways, kCanceled, kEnd},
    Rule{kCancelRequested, kNodeLost, Guard::kAlways, kCanceled, kEnd},
    Rule{kCancelRequested, kPreempted, Guard::kAlways, kCanceled, kEnd},
    Rule{kCancelRequested, kEndedOutside, Guard::kAlways, kCanceled, kEnd},
    Rule{kCancelRequested, kCanceledOutside, Guard::kAlways, kCanceled, kEnd},

    Rule{kNotResponding, kHeardAgain, Guard::kAlways, std::nullopt, kNoEffect},
    Rule{kNotResponding, kCancelAsked, Guard::kAlways, kCancelRequested, kCancelAttempt},
    Rule{kNotResponding, kPreemptionAsked, Guard::kAlways, kNotResponding, kCancelAttempt},
    Rule{kNotResponding, kPreparationFailed, Guard::kAlways, kFailed, kEnd},
    Rule{kNotResponding, kNodeLost, Guard::kAttemptsLeft, kQueued, kEnd | kEnqueue},
    Rule{kNotResponding, kNodeLost, Guard::kNoAttemptLeft, kFailed, kEnd},
    Rule{kNotResponding, kPreempted, Guard::kAlways, kQueued, kEnd | kEnqueue},
    Rule{kNotResponding, kEndedOutside, Guard::kAlways, kFailed, kEnd},
    Rule{kNotResponding, kCanceledOutside, Guard::kAlways, kCanceled, kEnd},
};

bool gave_way(const RunFacts& run, const Event& event) {
  return run.gives_way && event.outcome == Outcome::kStopped;
}

// Starts that count, the next one included.
int next_start(const RunFacts& run) {
  return run.attempt - run.preemptions + 1;
}

bool attempts_left(const RunFacts& run) {
  return run.gives_way || next_start(run) <= run.max_attempts;
}

bool holds(Guard guard, const RunFacts& run, const Event& event) {
  switch (guard) {
    case Guard::kAlways: return true;
    case Guard::kSucceeded: return event.outcome == Outcome::kSuccess;
    case Guard::kDidNotSucceed: return event.outcome != Outcome::kSuccess && !gave_way(run, event);
    case Guard::kGaveWay: return gave_way(run, event);
    case Guard::kAttemptsLeft: return attempts_left(run);
    case Guard::kNoAttemptLeft: return !attempts_left(run);
    case Guard::kOnNodes: return !run.interactive;
    case Guard::kInteractive: return run.interactive;
  }
  return false;
}

std::string_view words_of(Guard guard) {
  switch (guard) {
    case Guard::kAlways: return "";
    case Guard::kSucceeded: return " (succeeded)";
    case Guard::kDidNotSucceed: return " (failed)";
    case Guard::kGaveWay: return " (gave way)";
    case Guard::kAttemptsLeft: return " (attempts left)";
    case Guard::kNoAttemptLeft: return " (no attempt left)";
    case Guard::kOnNodes: return " (on nodes)";
    case Guard::kInteractive: return " (interactive)";
  }
  return "";
}

// The sentence for the time line, where the event alone does not say it.
std::string reason_for(const RunFacts& run, const Event& event, RunState next) {
  if ((run.gives_way || event.kind == kPreempted) && next == kQueued)
    return fmt::format("{}; it goes on from its outputs when there is room", event.reason);
  if (event.kind != kNodeLost) return event.reason;
  if (next == kQueued)
    return fmt::format("{}; trying again (attempt {} of {})", event.reason, next_start(run),
                       run.max_attempts);
  if (next == kFailed) return fmt::format("{} on the last of {} attempts", event.reason, run.max_attempts);
  return event.reason;
}

// Whether the run is where a client's repeated request wanted it.
bool is_there_already(const RunFacts& run, EventKind wish) {
  return (wish == kClosed && run.state == kCompleted) || (wish == kGivenUp && run.state == kFailed);
}

// What an event that no row takes means.
Decision decide_without_row(const RunFacts& run, const Event& event) {
  const auto refuse = [&](std::string reason) -> Decision {
    return {
        .verdict = Verdict::kRefuse, .next = run.state, .effects = kNoEffect, .reason = std::move(reason)};
  };
  const bool ends_it = event.kind == kClosed || event.kind == kGivenUp;
  if (ends_it && !run.interactive)
    return refuse("its own processes end this run; cancel it to end it before");
  if ((ends_it || event.kind == kCancelAsked) && is_final(run.state) && !is_there_already(run, event.kind))
    return refuse(fmt::format("the run has ended already ({})", to_text(run.state)));
  // Late, or asked twice, or while the outputs of an ended script are being kept: nothing is left to stop.
  return {.verdict = Verdict::kIgnore, .next = run.state, .effects = kNoEffect, .reason = ""};
}

}  // namespace

std::string_view to_text(EventKind kind) {
  switch (kind) {
    case kAccepted: return "accepted";
    case kPlaced: return "placed";
    case kPrepared: return "prepared";
    case kStarted: return "started";
    case kRankFailed: return "rank-failed";
    case kLeaderDone: return "leader-done";
    case kExited: return "exited";
    case kFinished: return "finished";
    case kPreparationFailed: return "preparation-failed";
    case kCancelAsked: return "cancel-asked";
    case kSilent: return "silent";
    case kHeardAgain: return "heard-again";
    case kNodeLost: return "node-lost";
    case kPreemptionAsked: return "preemption-asked";
    case kPreempted: return "preempted";
    case kEndedOutside: return "ended-outside";
    case kCanceledOutside: return "canceled-outside";
    case kOpened: return "opened";
    case kClosed: return "closed";
    case kGivenUp: return "given-up";
  }
  return "";
}

std::span<const Rule> transition_table() {
  return kTable;
}

Decision decide(const RunFacts& run, const Event& event) {
  for (const Rule& rule : kTable) {
    if (rule.from != run.state || rule.event != event.kind || !holds(rule.guard, run, event)) continue;
    const RunState next = rule.to.value_or(run.resume_state);
    return {.verdict = next == run.state ? Verdict::kStay : Verdict::kMove,
            .next = next,
            .effects = rule.effects,
            .reason = reason_for(run, event, next)};
  }
  return decide_without_row(run, event);
}

std::string state_diagram() {
  std::string text = "stateDiagram-v2\n  [*] --> NotStarted\n";
  for (const Rule& rule : kTable) {
    if (!rule.to) {
      text += fmt::format("  {} --> Running : {}, to the state before\n", to_text(rule.from),
                          to_text(rule.event));
    } else if (*rule.to != rule.from) {
      text += fmt::format("  {} --> {} : {}{}\n", to_text(rule.from), to_text(*rule.to), to_text(rule.event),
                          words_of(rule.guard));
    }
  }
  for (const RunState state : kAllRunStates)
    if (is_final(state)) text += fmt::format("  {} --> [*]\n", to_text(state));
  return text;
}

}  // namespace slipway::runs
