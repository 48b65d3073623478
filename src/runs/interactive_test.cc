// Families of runs without HTTP: real store, an orchestrator that places nothing.
#include "runs/interactive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/deletion.h"
#include "runs/metric_json.h"
#include "runs/new_run.h"
#include "runs/run_table.h"
#include "store/testing.h"

namespace slipway::runs {
namespace {

using RunRecord = slipway::runs::Run;  // testing::Test has a Run of its own
using testing::ElementsAre;
using testing::HasSubstr;

class Interactive : public testing::Test {
 protected:
  Interactive()
      : nodes_(clock_, std::chrono::seconds(15)),
        orchestrator_(store_.database(), nodes_, clock_, notifier_, {}),
        interactive_(store_.database(), orchestrator_, clock_) {}

  RunRecord begin(std::optional<RunId> parent = {}, InteractiveRun wanted = {}, std::string key = "") {
    InteractiveOrder order;
    order.workspace = kWorkspace;
    order.parent = std::move(parent);
    order.runs = {std::move(wanted)};
    order.request = {.scope = "w", .key = std::move(key), .body = Digest::of("b")};
    order.submitted_by = "test";
    auto begun = interactive_.begin(order);
    EXPECT_TRUE(begun) << (begun ? "" : begun.error().message);
    return begun ? begun->runs.front() : RunRecord{};
  }
  // A job as a submission leaves it, placed nowhere.
  RunRecord job_below(const RunId& parent) {
    RunRecord run;
    run.workspace = kWorkspace;
    run.job.command = {"true"};
    run.parent = parent;
    EXPECT_TRUE(store_->write([&](store::Writer& writer) -> Status {
      SLIPWAY_TRY(add_run(writer, run));
      return apply(writer, run, EventKind::kAccepted);
    }));
    return run;
  }
  Status apply(store::Writer& writer, RunRecord& run, EventKind kind) {
    auto verdict =
        orchestrator_.transitions().apply(writer, run, {.kind = kind, .reason = "", .outcome = {}});
    if (!verdict) return fail(std::move(verdict).error());
    return {};
  }
  RunRecord now(const RunId& id) {
    RunRecord run;
    EXPECT_TRUE(store_->read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(run, load_run(reader, id));
      return {};
    }));
    return run;
  }
  std::vector<RunId> ids(const RunFilter& filter) {
    std::vector<RunId> found;
    EXPECT_TRUE(store_->read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(const auto runs, list_runs(reader, kWorkspace, filter));
      for (const RunRecord& run : runs) found.push_back(run.id);
      return {};
    }));
    return found;
  }
  Status cancel(const RunId& id) {
    return store_->write([&](store::Writer& writer) -> Status {
      SLIPWAY_ASSIGN(RunRecord run, load_run(writer, id));
      return orchestrator_.transitions().cancel(writer, run, "asked");
    });
  }

  const WorkspaceName kWorkspace{"w"};
  store::TestStore store_;
  ManualClock clock_;
  Notifier notifier_;
  compute::NodeRegistry nodes_;
  Orchestrator orchestrator_;
  InteractiveRuns interactive_;
};

TEST_F(Interactive, RunsAreRunningAtOnceAndEndAsTheirClientSays) {
  const RunRecord run = begin();
  EXPECT_EQ(run.state, RunState::kRunning);
  EXPECT_TRUE(run.started_at);
  EXPECT_EQ(interactive_.complete(run, "me")->state, RunState::kCompleted);
  EXPECT_EQ(interactive_.complete(run, "me")->state, RunState::kCompleted);
  EXPECT_EQ(interactive_.fail_run(run, "late", "X").error().code, ErrorCode::kConflict);
  EXPECT_EQ(now(run.id).error_code, "");
  const RunRecord other = begin();
  ASSERT_TRUE(interactive_.fail_run(other, "no data", "DataError"));
  ASSERT_TRUE(interactive_.fail_run(other, "again", "Other"));
  EXPECT_EQ(now(other.id).reason, "no data");
  EXPECT_EQ(now(other.id).error_code, "DataError");
}

TEST_F(Interactive, AKeyMakesItsRunsOnce) {
  const RunRecord first = begin({}, {}, "k");
  EXPECT_EQ(begin({}, {}, "k").id, first.id);
  EXPECT_EQ(ids({}).size(), 1U);
}

TEST_F(Interactive, FamiliesKnowTheirTopAndAreListedWholeOrByLevel) {
  const RunRecord top = begin();
  const RunRecord child =
      begin(top.id, {.display_name = "", .description = "", .tags = {{"a", "1"}}, .properties = {}});
  const RunRecord deep =
      begin(child.id, {.display_name = "", .description = "", .tags = {}, .properties = {{"p", "q"}}});
  begin();
  EXPECT_EQ(now(deep.id).root, top.id);
  RunFilter filter;
  filter.parent = top.id;
  EXPECT_THAT(ids(filter), ElementsAre(child.id));
  filter.recursive = true;
  EXPECT_THAT(ids(filter), ElementsAre(deep.id, child.id));
  filter.tags = {{.key = "a", .value = std::nullopt}};
  EXPECT_THAT(ids(filter), ElementsAre(child.id));
  filter.tags = {{.key = "a", .value = "2"}};
  EXPECT_TRUE(ids(filter).empty());
  filter.tags.clear();
  filter.properties = {{.key = "p", .value = "q"}};
  EXPECT_THAT(ids(filter), ElementsAre(deep.id));
  RunFilter tops;
  tops.without_parent = true;
  EXPECT_EQ(ids(tops).size(), 2U);
}

TEST_F(Interactive, CancelingATopCancelsAllBelowItAndTakesNoMoreChildren) {
  const RunRecord top = begin();
  const RunRecord child = begin(top.id);
  const RunRecord deep = begin(child.id);
  const RunRecord job = job_below(child.id);
  const RunRecord done = begin(top.id);
  ASSERT_TRUE(interactive_.complete(done, "me"));
  ASSERT_TRUE(cancel(top.id));
  for (const RunId& id : {top.id, child.id, deep.id, job.id}) EXPECT_EQ(now(id).state, RunState::kCanceled);
  EXPECT_THAT(now(deep.id).reason, HasSubstr(top.id.str()));
  EXPECT_EQ(now(done.id).state, RunState::kCompleted);
  InteractiveOrder late;
  late.workspace = kWorkspace;
  late.parent = top.id;
  late.runs.resize(1);
  EXPECT_EQ(interactive_.begin(late).error().code, ErrorCode::kConflict);
}

TEST_F(Interactive, RunsBelowAJobEndWithItAndItsJobsDoNot) {
  const RunRecord top = begin();
  RunRecord job = job_below(top.id);
  const RunRecord child = begin(job.id);
  const RunRecord submitted = job_below(job.id);
  ASSERT_TRUE(
      store_->write([&](store::Writer& writer) { return apply(writer, job, EventKind::kCancelAsked); }));
  EXPECT_EQ(now(child.id).state, RunState::kCanceled);
  EXPECT_EQ(now(submitted.id).state, RunState::kQueued);
  EXPECT_EQ(now(top.id).state, RunState::kRunning);
}

TEST_F(Interactive, AFamilyIsDeletedAsAWholeOrNotAtAll) {
  const auto metrics = metrics::make_sql_metric_store(store_.database());
  LogStore logs(store_.folder().path() / "logs");
  const RunRecord top = begin();
  const RunRecord child = begin(top.id);
  ASSERT_TRUE(interactive_.complete(top, "me"));
  EXPECT_EQ(delete_run(store_.database(), *metrics, logs, top).error().code, ErrorCode::kConflict);
  EXPECT_EQ(delete_run(store_.database(), *metrics, logs, top, true).error().code, ErrorCode::kConflict);
  ASSERT_TRUE(interactive_.complete(child, "me"));
  ASSERT_TRUE(delete_run(store_.database(), *metrics, logs, top, true));
  EXPECT_TRUE(ids({}).empty());
  EXPECT_EQ(store_.number("SELECT COUNT(*) FROM run_events"), 0);
}

TEST_F(Interactive, ABatchOfASourceIsStoredOnceAndInOrder) {
  const auto metrics = metrics::make_sql_metric_store(store_.database());
  const RunRecord run = begin();
  const auto log = [&](int64_t sequence) -> Result<bool> {
    MetricBatch batch{.entries = {journal::MetricPoint{.name = "m", .step = 0, .time = {1}, .value = 1}},
                      .source = "nb",
                      .sequence = sequence};
    bool stored = false;
    SLIPWAY_TRY(store_->write([&](store::Writer& writer) -> Status {
      SLIPWAY_ASSIGN(stored, store_metric_batch(writer, *metrics, run.id, batch));
      return {};
    }));
    return stored;
  };
  EXPECT_TRUE(*log(1));
  EXPECT_FALSE(*log(1));
  EXPECT_EQ(log(3).error().code, ErrorCode::kConflict);
  EXPECT_TRUE(*log(2));
  EXPECT_FALSE(*log(1));
  EXPECT_EQ(metrics->points(run.id, "m", 0, 10)->size(), 2U);
}

TEST(HistoryMigration, KeepsWhatARunRepeatsAndItsMetrics) {
  const store::TestFolder folder;
  store::SqliteOptions options;
  options.path = folder.file("slipway.db");
  {
    auto old = store::open_sqlite(options, {store::migrations().front()});
    ASSERT_TRUE(old);
    ASSERT_TRUE((*old)->write([](store::Writer& writer) -> Status {
      SLIPWAY_TRY(writer.run(
          "INSERT INTO runs (id, workspace, experiment, cluster, state, job, submitted_at, parent) "
          "VALUES ('a-1', 'w', 'a', 'local', 'Completed', ?, 5, 'a-0')",
          {R"({"experiment":"a","command":["true"]})"}));
      return writer.run(
          "INSERT INTO metric_summary (run, name, count, last_step, last_time, last_value) "
          "VALUES ('a-1', 'm', 1, 2, 3, 4.5)");
    }));
  }
  auto database = store::open_sqlite(options, store::migrations());
  ASSERT_TRUE(database) << database.error().message;
  RunRecord run;
  ASSERT_TRUE((*database)->read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(run, load_run(reader, RunId("a-1")));
    return {};
  }));
  EXPECT_EQ(run.rerun_of, RunId("a-0"));
  EXPECT_FALSE(run.parent);
  EXPECT_EQ(run.type, RunType::kJob);
  const auto summaries = metrics::make_sql_metric_store(**database)->summaries(run.id, "", 10);
  ASSERT_EQ(summaries->size(), 1U);
  EXPECT_EQ(summaries->front().last_kind, "number");
}

}  // namespace
}  // namespace slipway::runs
