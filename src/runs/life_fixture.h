// The whole control plane without its HTTP, for tests: real store, real logs, an engine whose nodes are the
// test itself.
#pragma once

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
#include "runs/streams.h"
#include "runs/submission.h"
#include "store/testing.h"

namespace slipway::runs {

using journal::Kind;
using RunRecord = slipway::runs::Run;  // testing::Test has a Run of its own

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
  Duration start_time() const override { return std::chrono::milliseconds(1); }
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
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

class LifeOfARun : public testing::Test {
 protected:
  LifeOfARun()
      : logs_(store_.folder().path() / "logs"),
        blobs_(*blobs::open_folder_store(store_.folder().file("blobs"))),
        metrics_(metrics::make_sql_metric_store(store_.database())),
        nodes_(clock_, std::chrono::seconds(15)),
        orchestrator_(store_.database(), nodes_, clock_, notifier_,
                      {.heartbeat = std::chrono::seconds(5),
                       .silence = std::chrono::seconds(30),
                       .grace = std::chrono::seconds(600)}),
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

  RunRecord submit(int nodes = 1, std::string key = "", JobPriority priority = JobPriority::kNormal,
                   LauncherKind launcher = LauncherKind::kNone) {
    Job job;
    job.launcher.kind = launcher;
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

  std::string journal_of(int exit_code, const std::string& stopped_because = "",
                         const std::string& reason = "") {
    ExitStatus exit;
    exit.code = exit_code;
    exit.canceled = !stopped_because.empty();
    exit.reason = stopped_because + reason;
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

  void run_to_its_end(const RunId& id, int exit_code, const std::string& lost_by_first = "") {
    for (const Part& part : parts(id)) {
      ASSERT_TRUE(attempts_.claim(part.node, part.key));
      ASSERT_TRUE(attempts_.take_journal(part.node, part.key, 0, journal_of(exit_code)));
    }
    for (const Part& part : parts(id))
      ASSERT_TRUE(attempts_.finished(part.node, part.key, false, part.key.rank == 0 ? lost_by_first : ""));
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

  static std::vector<std::string> names_of(const Result<std::vector<http::Event>>& events) {
    std::vector<std::string> names;
    EXPECT_TRUE(events);
    if (!events) return names;
    for (const http::Event& event : *events) names.push_back(event.name);
    return names;
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

}  // namespace slipway::runs
