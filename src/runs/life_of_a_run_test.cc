// What becomes of runs, from the submission to the end and whatever comes between.
#include "runs/life_fixture.h"

namespace slipway::runs {
namespace {

using namespace std::chrono_literals;

TEST_F(LifeOfARun, GoesFromSubmissionToCompletionAndFreesItsNode) {
  const RunRecord run = submit();
  EXPECT_EQ(run.state, RunState::kQueued);
  EXPECT_FALSE(orchestrator_.why_waiting(run).empty());
  bring_up(1);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kPreparing; }));
  run_to_its_end(run.id, 0);
  EXPECT_EQ(state(run.id), RunState::kCompleted);
  EXPECT_EQ(now(run.id).exit_code, 0);
  EXPECT_EQ(nodes_.counts_all().busy, 0);
  expect_history_matches(run.id);
  const auto summaries = metrics_->summaries(run.id, "", 10);
  ASSERT_TRUE(summaries);
  ASSERT_EQ(summaries->size(), 1U);
}

TEST_F(LifeOfARun, AFailingScriptMakesAFailedRunWithItsCode) {
  const RunRecord run = submit();
  bring_up(1);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kPreparing; }));
  run_to_its_end(run.id, 7);
  EXPECT_EQ(state(run.id), RunState::kFailed);
  EXPECT_EQ(now(run.id).exit_code, 7);
  EXPECT_EQ(now(run.id).reason, "exit code 7");
}

TEST_F(LifeOfARun, TheSameKeyMakesOneRunAndAnotherBodyIsAConflict) {
  const RunRecord first = submit(1, "key-1");
  const RunRecord second = submit(1, "key-1");
  EXPECT_EQ(first.id, second.id);
  auto other = submissions_.submit({.workspace = kWorkspace,
                                    .job = first.job,
                                    .request = {.scope = "w", .key = "key-1", .body = Digest::of("other")},
                                    .submitted_by = "test",
                                    .rerun_of = {},
                                    .parent = {}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
}

TEST_F(LifeOfARun, ARepeatedJournalIsTakenOnceAndAGapIsRefused) {
  const RunRecord run = submit();
  bring_up(1);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kPreparing; }));
  const Part part = parts(run.id).front();
  ASSERT_TRUE(attempts_.claim(part.node, part.key));
  const std::string bytes = journal_of(0);
  EXPECT_EQ(*attempts_.take_journal(part.node, part.key, 0, bytes), bytes.size());
  EXPECT_EQ(*attempts_.take_journal(part.node, part.key, 0, bytes), bytes.size());
  const auto gap = attempts_.take_journal(part.node, part.key, bytes.size() + 10, bytes);
  ASSERT_FALSE(gap);
  EXPECT_EQ(gap.error().code, ErrorCode::kConflict);
  EXPECT_EQ(metrics_->summaries(run.id, "", 10)->front().count, 1);
  uint64_t size = 0;
  ASSERT_TRUE(logs_.open(part.key, "std_log.txt", &size));
  EXPECT_EQ(size, 6U);
}

TEST_F(LifeOfARun, ALostNodeFencesItsAttemptAndTheLateSuccessIsStale) {
  const RunRecord run = submit();
  bring_up(1);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kPreparing; }));
  const Part old = parts(run.id).front();
  ASSERT_TRUE(attempts_.claim(old.node, old.key));
  clock_.advance(31s);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kNotResponding; }));
  clock_.advance(600s);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kQueued; }));
  const auto late = attempts_.take_journal(old.node, old.key, 0, journal_of(0));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kStale);
  const auto unwanted = attempts_.not_wanted(old.node, {old.key});
  ASSERT_TRUE(unwanted);
  EXPECT_THAT(*unwanted, testing::ElementsAre(old.key));
  expect_history_matches(run.id);
}

TEST_F(LifeOfARun, ANodeThatIsHeardAgainInTimeKeepsItsRun) {
  const RunRecord run = submit();
  bring_up(1);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kPreparing; }));
  const Part part = parts(run.id).front();
  ASSERT_TRUE(attempts_.claim(part.node, part.key));
  clock_.advance(31s);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kNotResponding; }));
  ASSERT_TRUE(orchestrator_.node_heard_from(part.node));
  EXPECT_EQ(state(run.id), RunState::kPreparing);
  run_to_its_end(run.id, 0);
  EXPECT_EQ(state(run.id), RunState::kCompleted);
}

TEST_F(LifeOfARun, ARunOfTwoNodesStartsOnBothAndFailsWithTheFirstBadRank) {
  const RunRecord run = submit(2);
  bring_up(2);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kPreparing; }));
  const auto both = parts(run.id);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_NE(both[0].node, both[1].node);
  for (const Part& part : both) ASSERT_TRUE(attempts_.claim(part.node, part.key));
  ASSERT_TRUE(attempts_.take_journal(both[1].node, both[1].key, 0, journal_of(3)));
  EXPECT_TRUE(parts(run.id)[0].cancel.has_value());  // the other one is told to end
  ASSERT_TRUE(attempts_.take_journal(both[0].node, both[0].key, 0, journal_of(0)));
  for (const Part& part : both) ASSERT_TRUE(attempts_.finished(part.node, part.key));
  EXPECT_EQ(state(run.id), RunState::kFailed);
  EXPECT_EQ(now(run.id).exit_code, 3);
}

TEST_F(LifeOfARun, ARunThatEndedWellFailsWhenOneNodeHasLostItsOutputs) {
  const RunRecord run = submit(2);
  bring_up(2);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kPreparing; }));
  run_to_its_end(run.id, 0, "the output 'out' could not be kept");
  EXPECT_EQ(state(run.id), RunState::kFailed);
  EXPECT_EQ(now(run.id).reason, "the output 'out' could not be kept");
}

TEST_F(LifeOfARun, ALowRunGivesWayWaitsAgainAndLosesNoAttempt) {
  const RunRecord low = submit(2, "", JobPriority::kLow);
  bring_up(2);
  ASSERT_TRUE(eventually([&] { return state(low.id) == RunState::kPreparing; }));
  const RunRecord normal = submit();
  ASSERT_TRUE(eventually([&] { return now(low.id).gives_way_to == normal.id; }));
  EXPECT_EQ(state(low.id), RunState::kPreparing);
  EXPECT_EQ(orchestrator_.why_waiting(now(normal.id)), low.id.str() + " is ending to give way to this run");
  const std::vector<Part> both = parts(low.id);
  for (const Part& part : both) {
    ASSERT_TRUE(part.cancel);
    EXPECT_EQ(part.cancel->reason, "gives way to " + normal.id.str() + " (priority normal)");
    ASSERT_TRUE(attempts_.claim(part.node, part.key));
  }
  // One rank was stopped, the other one failed when the first was gone.
  ASSERT_TRUE(attempts_.take_journal(both[0].node, both[0].key, 0, journal_of(143, both[0].cancel->reason)));
  ASSERT_TRUE(attempts_.take_journal(both[1].node, both[1].key, 0, journal_of(1)));
  EXPECT_EQ(state(normal.id), RunState::kQueued);
  for (const Part& part : both) ASSERT_TRUE(attempts_.finished(part.node, part.key));
  ASSERT_TRUE(eventually([&] { return state(normal.id) == RunState::kPreparing; }));
  const RunRecord waits = now(low.id);
  EXPECT_EQ(waits.state, RunState::kQueued);
  EXPECT_EQ(waits.preemptions, 1);
  EXPECT_FALSE(waits.gives_way_to || waits.exit_code || waits.started_at);
  EXPECT_EQ(waits.waiting_since, low.submitted_at);
  expect_history_matches(low.id);
  expect_history_matches(normal.id);
  run_to_its_end(normal.id, 0);
  ASSERT_TRUE(eventually([&] { return state(low.id) == RunState::kPreparing; }));
  EXPECT_EQ(now(low.id).attempt, 2);
  clock_.advance(631s);  // its nodes are lost, on the first of two attempts that count
  ASSERT_TRUE(eventually([&] { return state(low.id) == RunState::kQueued; }));
}

TEST_F(LifeOfARun, ARunThatEndsByItselfBeforeItHearsOfGivingWayHasEnded) {
  const RunRecord low = submit(2, "", JobPriority::kLow);
  bring_up(2);
  ASSERT_TRUE(eventually([&] { return state(low.id) == RunState::kPreparing; }));
  const RunRecord normal = submit();
  ASSERT_TRUE(eventually([&] { return now(low.id).gives_way_to == normal.id; }));
  run_to_its_end(low.id, 0);
  EXPECT_EQ(state(low.id), RunState::kCompleted);
  EXPECT_EQ(now(low.id).preemptions, 0);
}

TEST_F(LifeOfARun, AfterARestartItIsKnownWhoGivesWayToWhom) {
  const RunRecord low = submit(2, "", JobPriority::kLow);
  bring_up(2);
  ASSERT_TRUE(eventually([&] { return state(low.id) == RunState::kPreparing; }));
  const RunRecord normal = submit();
  ASSERT_TRUE(eventually([&] { return now(low.id).gives_way_to == normal.id; }));
  orchestrator_.stop();
  compute::NodeRegistry nodes(clock_, 15s);
  Orchestrator again(store_.database(), nodes, clock_, notifier_, {});
  ASSERT_TRUE(again.load());
  EXPECT_EQ(again.why_waiting(now(normal.id)), low.id.str() + " is ending to give way to this run");
  EXPECT_TRUE(parts(low.id).front().cancel);  // the order to end it is there to be sent
}

TEST_F(LifeOfARun, ACanceledWaitingRunIsNeverPlaced) {
  const RunRecord run = submit();
  RunRecord canceled;
  ASSERT_TRUE(store_->write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(canceled, load_run(writer, run.id));
    auto verdict = orchestrator_.transitions().apply(
        writer, canceled, {.kind = EventKind::kCancelAsked, .reason = "test", .outcome = {}});
    if (!verdict) return fail(verdict.error());
    return {};
  }));
  bring_up(1);
  EXPECT_EQ(state(run.id), RunState::kCanceled);
  EXPECT_TRUE(parts(run.id).empty());
}

TEST_F(LifeOfARun, AfterARestartWaitingAndPlacedRunsAreFoundAgain) {
  const RunRecord placed = submit();
  bring_up(1);
  ASSERT_TRUE(eventually([&] { return state(placed.id) == RunState::kPreparing; }));
  const Part part = parts(placed.id).front();
  orchestrator_.stop();

  compute::NodeRegistry nodes(clock_, 15s);
  Orchestrator again(store_.database(), nodes, clock_, notifier_,
                     {.heartbeat = 5s, .silence = 30s, .grace = 600s});
  ASSERT_TRUE(again.load());
  const auto info = nodes.find(part.node);
  ASSERT_TRUE(info);
  EXPECT_THAT(info->attempts, testing::ElementsAre(part.key));
}

TEST_F(LifeOfARun, DeletingARunDropsItsReferencesAndLogs) {
  const RunRecord run = submit();
  bring_up(1);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kPreparing; }));
  EXPECT_FALSE(delete_run(store_.database(), *metrics_, logs_, now(run.id)));  // active
  const Part part = parts(run.id).front();
  ASSERT_TRUE(attempts_.claim(part.node, part.key));
  const auto digest = blobs_->put("model");
  ASSERT_TRUE(digest);
  ASSERT_TRUE(attempts_.take_files(
      part.node, part.key, {{.path = "outputs/model", .digest = digest->hex(), .size = 5, .mode = 0644}},
      {}));
  run_to_its_end(run.id, 0);
  ASSERT_TRUE(delete_run(store_.database(), *metrics_, logs_, now(run.id)));
  EXPECT_EQ(store_.number("SELECT COUNT(*) FROM blob_refs"), 0);
  EXPECT_EQ(store_.number("SELECT COUNT(*) FROM run_events"), 0);
  EXPECT_TRUE(logs_.runs().empty());
}

}  // namespace
}  // namespace slipway::runs
