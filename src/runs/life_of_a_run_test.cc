// The whole control plane without its HTTP: real store, real logs, an engine whose nodes are the test itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "blobs/blob_store.h"
#include "blobs/references.h"
#include "compute/cluster_store.h"
#include "runs/attempts.h"
#include "runs/deletion.h"
#include "runs/orchestrator.h"
#include "runs/run_table.h"
#include "runs/submission.h"
#include "store/testing.h"

namespace slipway::runs {
namespace {

using journal::Kind;
using RunRecord = slipway::runs::Run;  // testing::Test has a Run of its own
using namespace std::chrono_literals;

// Starts nothing: the test registers the nodes that were asked for.
class RecordingEngine final : public compute::Engine {
 public:
  Status start_node(const compute::NodeOrder& order) override {
    const std::lock_guard lock(mutex_);
    started_.push_back(order);
    return {};
  }
  Status stop_node(const NodeId&) override { return {}; }
  std::vector<compute::EngineNode> nodes() override { return {}; }
  Duration start_time() const override { return 1ms; }
  std::vector<compute::NodeOrder> started() {
    const std::lock_guard lock(mutex_);
    return started_;
  }

 private:
  std::mutex mutex_;
  std::vector<compute::NodeOrder> started_;
};

template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(2ms);
  }
  return false;
}

class LifeOfARun : public testing::Test {
 protected:
  LifeOfARun()
      : logs_(store_.folder().path() / "logs"),
        blobs_(*blobs::open_folder_store(store_.folder().file("blobs"))),
        metrics_(metrics::make_sql_metric_store(store_.database())),
        nodes_(clock_, 15s),
        orchestrator_(store_.database(), nodes_, clock_, notifier_,
                      {.heartbeat = 5s, .silence = 30s, .grace = 600s}),
        submissions_(store_.database(), orchestrator_, clock_),
        attempts_(store_.database(), orchestrator_, nodes_, logs_, *metrics_, *blobs_,
                  data::Seal(store_.folder().file("secrets.key")), clock_, 0) {
    compute::ClusterSpec spec;
    spec.workspace = kWorkspace;
    spec.name = ClusterName("cpu");
    spec.max_nodes = 2;
    spec.created_at = clock_.now();
    EXPECT_TRUE(store_->write([&](store::Writer& writer) { return compute::insert_cluster(writer, spec); }));
    EXPECT_TRUE(orchestrator_.load());
    orchestrator_.start(engine_);
  }
  ~LifeOfARun() override { orchestrator_.stop(); }

  RunRecord submit(int nodes = 1, std::string key = "", JobPriority priority = JobPriority::kNormal) {
    Job job;
    job.priority = priority;
    job.compute = ClusterName("cpu");
    job.command = {"true"};
    job.nodes = nodes;
    job.max_attempts = 2;
    auto result =
        submissions_.submit({.workspace = kWorkspace,
                             .job = job,
                             .request = {.scope = "w", .key = std::move(key), .body = Digest::of("b")},
                             .submitted_by = "test",
                             .rerun_of = {},
                             .parent = {}});
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result->run;
  }

  // Registers every node that was asked for.
  void bring_up(size_t count) {
    ASSERT_TRUE(eventually([&] { return engine_.started().size() >= count; }));
    for (const compute::NodeOrder& order : engine_.started())
      ASSERT_TRUE(orchestrator_.node_registered(order.node, order.capacity, "127.0.0.1", 1));
  }

  RunRecord now(const RunId& id) {
    RunRecord run;
    const Status read = store_->read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(run, load_run(reader, id));
      return {};
    });
    EXPECT_TRUE(read);
    return run;
  }
  RunState state(const RunId& id) { return now(id).state; }

  std::vector<Part> parts(const RunId& id) {
    std::vector<Part> found;
    const Status read = store_->read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(found, parts_of_attempt(reader, id, now(id).attempt));
      return {};
    });
    EXPECT_TRUE(read);
    return found;
  }

  std::string journal_of(int exit_code, const std::string& stopped_because = "") {
    ExitStatus exit;
    exit.code = exit_code;
    exit.canceled = !stopped_because.empty();
    exit.reason = stopped_because;
    exit.ended = clock_.now();
    std::string bytes;
    bytes += journal::encode_record(Kind::kPhase, 1, clock_.now(), R"({"phase":"running"})");
    bytes += journal::encode_record(
        Kind::kLog, 2, clock_.now(),
        journal::encode_log(
            {.name = "std_log.txt", .channel = journal::Channel::kStdout, .offset = 0, .bytes = "hello\n"}));
    bytes += journal::encode_record(Kind::kMetrics, 3, clock_.now(),
                                    journal::encode_metrics({{"loss", 1, clock_.now(), 0.5}}));
    bytes += journal::encode_record(Kind::kExit, 4, clock_.now(), json::serialize(to_json(exit)));
    return bytes;
  }

  void run_to_its_end(const RunId& id, int exit_code) {
    for (const Part& part : parts(id)) {
      ASSERT_TRUE(attempts_.claim(part.node, part.key));
      ASSERT_TRUE(attempts_.take_journal(part.node, part.key, 0, journal_of(exit_code)));
    }
    for (const Part& part : parts(id)) ASSERT_TRUE(attempts_.finished(part.node, part.key));
  }

  // I7: the history leads to the state that is stored.
  void expect_history_matches(const RunId& id) {
    const RunRecord run = now(id);
    std::vector<RunEvent> events;
    const Status read = store_->read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(events, list_events(reader, run.seq, 0, 1000));
      return {};
    });
    ASSERT_TRUE(read);
    ASSERT_FALSE(events.empty());
    for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].seq, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(events.back().state, run.state);
  }

  const WorkspaceName kWorkspace{"default"};
  ManualClock clock_;
  Notifier notifier_;
  store::TestStore store_;
  LogStore logs_;
  std::unique_ptr<blobs::BlobStore> blobs_;
  std::unique_ptr<metrics::MetricStore> metrics_;
  compute::NodeRegistry nodes_;
  RecordingEngine engine_;
  Orchestrator orchestrator_;
  Submissions submissions_;
  Attempts attempts_;
};

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
