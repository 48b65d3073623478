#include "runs/lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/file.h"

namespace slipway::runs {
namespace {

using enum RunState;
using enum EventKind;

RunFacts run_in(RunState state, int attempt = 1, int max_attempts = 3) {
  return {.state = state, .resume_state = kRunning, .attempt = attempt, .max_attempts = max_attempts};
}

Event event(EventKind kind, Outcome outcome = Outcome::kSuccess) {
  return {.kind = kind, .reason = "because", .outcome = outcome};
}

TEST(Lifecycle, AFinalStateNeverChanges) {
  for (const RunState state : {kCompleted, kFailed, kCanceled}) {
    for (const EventKind kind : kAllEventKinds) {
      const Decision decision = decide(run_in(state), event(kind));
      EXPECT_EQ(decision.next, state);
      EXPECT_TRUE(decision.verdict == Verdict::kIgnore || decision.verdict == Verdict::kRefuse)
          << to_text(kind);
      EXPECT_EQ(decision.effects, kNoEffect);
    }
  }
}

// Every pair of state and event has exactly one answer, and no two rows claim it.
TEST(Lifecycle, EveryPairOfStateAndEventIsDecidedOnce) {
  for (const RunState state : kAllRunStates) {
    for (const EventKind kind : kAllEventKinds) {
      for (const int attempt : {1, 3}) {
        for (const Outcome outcome : {Outcome::kSuccess, Outcome::kFailure}) {
          const RunFacts run = run_in(state, attempt);
          const Decision first = decide(run, event(kind, outcome));
          const Decision again = decide(run, event(kind, outcome));
          EXPECT_EQ(first.next, again.next);
          EXPECT_EQ(first.verdict, again.verdict);
        }
      }
    }
  }
  std::set<std::tuple<RunState, EventKind, Guard>> seen;
  for (const Rule& rule : transition_table())
    EXPECT_TRUE(seen.insert({rule.from, rule.event, rule.guard}).second)
        << to_text(rule.from) << " " << to_text(rule.event);
}

TEST(Lifecycle, EveryStateIsReachedAndEveryActiveOneHasAWayOut) {
  std::set<RunState> reached{kNotStarted};
  for (const Rule& rule : transition_table())
    if (rule.to) reached.insert(*rule.to);
  for (const RunState state : kAllRunStates) EXPECT_TRUE(reached.contains(state)) << to_text(state);
  for (const RunState state : kAllRunStates) {
    if (is_final(state)) continue;
    // Nodes can always be lost and users can always cancel: whichever applies must lead on.
    const bool can_be_left = decide(run_in(state), event(kCancelAsked)).verdict == Verdict::kMove ||
                             decide(run_in(state), event(kNodeLost)).verdict == Verdict::kMove;
    EXPECT_TRUE(can_be_left) << to_text(state);
  }
}

TEST(Lifecycle, ALostNodeIsTriedAgainUntilTheAttemptsAreUsedUp) {
  const Decision again = decide(run_in(kNotResponding, 2, 3), event(kNodeLost));
  EXPECT_EQ(again.next, kQueued);
  EXPECT_TRUE(again.effects & kFenceAttempt);
  EXPECT_TRUE(again.effects & kEnqueue);
  EXPECT_THAT(again.reason, testing::HasSubstr("attempt 3 of 3"));
  EXPECT_EQ(decide(run_in(kNotResponding, 3, 3), event(kNodeLost)).next, kFailed);
}

TEST(Lifecycle, ARunThatIsToGiveWayIsToldToEndAndStaysWhereItIs) {
  for (const RunState state : {kPreparing, kStarting, kRunning, kNotResponding}) {
    const Decision asked = decide(run_in(state), event(kPreemptionAsked));
    EXPECT_EQ(asked.verdict, Verdict::kStay) << to_text(state);
    EXPECT_EQ(asked.effects, kCancelAttempt) << to_text(state);
  }
  for (const RunState state : {kNotStarted, kQueued, kFinalizing, kCancelRequested})
    EXPECT_EQ(decide(run_in(state), event(kPreemptionAsked)).verdict, Verdict::kIgnore) << to_text(state);
}

TEST(Lifecycle, ARunThatGaveWayWaitsAgainUnlessItHadEndedByItself) {
  RunFacts run = run_in(kFinalizing, 1, 1);
  run.gives_way = true;
  const Decision waits = decide(run, event(kFinished, Outcome::kStopped));
  EXPECT_EQ(waits.next, kQueued);
  EXPECT_EQ(waits.effects, kFenceAttempt | kEnqueue);
  EXPECT_EQ(waits.reason, "because; it goes on from its outputs when there is room");
  EXPECT_EQ(decide(run, event(kFinished, Outcome::kSuccess)).next, kCompleted);
  EXPECT_EQ(decide(run, event(kFinished, Outcome::kFailure)).next, kFailed);
  run.state = kRunning;
  EXPECT_EQ(decide(run, event(kNodeLost)).next, kQueued);
  EXPECT_EQ(decide(run, event(kCancelAsked)).next, kCancelRequested);
  run.gives_way = false;
  run.state = kFinalizing;
  EXPECT_EQ(decide(run, event(kFinished, Outcome::kStopped)).next, kFailed);
}

TEST(Lifecycle, AttemptsThatGaveWayUseUpNone) {
  RunFacts run = run_in(kRunning, 4, 2);
  run.preemptions = 3;
  const Decision again = decide(run, event(kNodeLost));
  EXPECT_EQ(again.next, kQueued);
  EXPECT_THAT(again.reason, testing::HasSubstr("attempt 2 of 2"));
  run.preemptions = 2;
  EXPECT_EQ(decide(run, event(kNodeLost)).next, kFailed);
}

TEST(Lifecycle, ARunThatWasSilentGoesBackToWhereItWas) {
  RunFacts run = run_in(kNotResponding);
  run.resume_state = kFinalizing;
  EXPECT_EQ(decide(run, event(kHeardAgain)).next, kFinalizing);
}

TEST(Lifecycle, AskingTwiceToCancelIsHarmlessAndAskingAnEndedRunIsRefused) {
  EXPECT_EQ(decide(run_in(kRunning), event(kCancelAsked)).next, kCancelRequested);
  EXPECT_EQ(decide(run_in(kCancelRequested), event(kCancelAsked)).verdict, Verdict::kIgnore);
  EXPECT_EQ(decide(run_in(kCompleted), event(kCancelAsked)).verdict, Verdict::kRefuse);
  EXPECT_EQ(decide(run_in(kQueued), event(kCancelAsked)).next, kCanceled);
}

TEST(Lifecycle, ACanceledRunIsCanceledHoweverItsScriptEnds) {
  for (const Outcome outcome : {Outcome::kSuccess, Outcome::kFailure})
    EXPECT_EQ(decide(run_in(kCancelRequested), event(kFinished, outcome)).next, kCanceled);
}

TEST(Lifecycle, EveryFinalStateThatHeldNodesLetsThemGo) {
  for (const Rule& rule : transition_table())
    if (rule.to && is_final(*rule.to) && holds_nodes(rule.from) && rule.guard != Guard::kInteractive)
      EXPECT_TRUE(rule.effects & kFenceAttempt) << to_text(rule.from) << " " << to_text(rule.event);
}

RunFacts interactive_in(RunState state) {
  RunFacts run = run_in(state, 0);
  run.interactive = true;
  return run;
}

TEST(Lifecycle, AnInteractiveRunIsEndedByItsClientAndByNobodyElse) {
  EXPECT_EQ(decide(interactive_in(kNotStarted), event(kOpened)).next, kRunning);
  EXPECT_EQ(decide(interactive_in(kRunning), event(kClosed)).next, kCompleted);
  EXPECT_EQ(decide(interactive_in(kRunning), event(kGivenUp)).next, kFailed);
  const Decision canceled = decide(interactive_in(kRunning), event(kCancelAsked));
  EXPECT_EQ(canceled.next, kCanceled);
  EXPECT_EQ(canceled.effects, kNoEffect);
}

TEST(Lifecycle, AClientThatRepeatsHowItsRunEndedIsHeardOnce) {
  EXPECT_EQ(decide(interactive_in(kCompleted), event(kClosed)).verdict, Verdict::kIgnore);
  EXPECT_EQ(decide(interactive_in(kFailed), event(kGivenUp)).verdict, Verdict::kIgnore);
  for (const EventKind kind : {kClosed, kGivenUp, kCancelAsked})
    EXPECT_EQ(decide(interactive_in(kCanceled), event(kind)).verdict, Verdict::kRefuse) << to_text(kind);
  EXPECT_EQ(decide(interactive_in(kCompleted), event(kGivenUp)).verdict, Verdict::kRefuse);
}

TEST(Lifecycle, AJobIsEndedByItsProcessesWhateverAClientSays) {
  for (const RunState state : kAllRunStates)
    for (const EventKind kind : {kClosed, kGivenUp})
      EXPECT_EQ(decide(run_in(state), event(kind)).verdict, Verdict::kRefuse) << to_text(state);
}

TEST(Lifecycle, TheDiagramInTheDocumentationIsThatOfTheTable) {
  const auto document = read_file(SLIPWAY_SOURCE_FOLDER "/docs/run-states.md");
  ASSERT_TRUE(document);
  EXPECT_THAT(*document, testing::HasSubstr(state_diagram()))
      << "paste this between the fences of docs/run-states.md:\n"
      << state_diagram();
}

}  // namespace
}  // namespace slipway::runs
