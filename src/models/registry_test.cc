// The registry with a real store, real blobs and the submission of trials; no node carries them out.
#include "models/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blobs/references.h"
#include "compute/cluster_store.h"
#include "models/environment.h"
#include "models/lineage.h"
#include "models/model_table.h"
#include "runs/deletion.h"
#include "runs/run_files.h"
#include "runs/run_table.h"
#include "store/testing.h"

namespace slipway::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

const WorkspaceName kWorkspace("w");

class RegistryTest : public testing::Test {
 protected:
  RegistryTest()
      : logs_(store_.folder().path() / "logs"),
        blobs_(*blobs::open_folder_store(store_.folder().file("blobs"))),
        metrics_(metrics::make_sql_metric_store(store_.database())),
        nodes_(clock_, 15s),
        orchestrator_(store_.database(), nodes_, clock_, notifier_, {}),
        submissions_(store_.database(), orchestrator_, clock_),
        snapshots_(store_.database(), *blobs_, clock_),
        trials_(store_.database(), submissions_, orchestrator_, snapshots_, logs_),
        registry_(store_.database(), *blobs_, snapshots_, trials_, clock_) {
    EXPECT_TRUE(store_->write([&](store::Writer& writer) {
      return compute::insert_cluster(writer, compute::local_cluster(kWorkspace, clock_.now()));
    }));
    EXPECT_TRUE(orchestrator_.load());
  }

  // A run that has kept outputs/model/w.bin.
  runs::Run trained(const std::string& content = "weights") {
    Job job;
    job.command = {"true"};
    auto submitted = submissions_.submit({.workspace = kWorkspace,
                                          .job = job,
                                          .request = {.scope = "w", .key = "", .body = Digest::of("b")},
                                          .submitted_by = "test",
                                          .rerun_of = {},
                                          .parent = {}});
    EXPECT_TRUE(submitted);
    const auto hold = blobs_->hold();
    const auto digest = blobs_->put(content);
    EXPECT_TRUE(store_->write([&](store::Writer& writer) -> Status {
      SLIPWAY_TRY(blobs::add_upload(writer, *blobs_, *digest, kWorkspace, Timestamp{INT64_MAX}));
      return runs::add_run_files(
          writer, *blobs_, submitted->run,
          {{.path = "outputs/model/w.bin", .digest = digest->hex(), .size = content.size(), .mode = 0600}},
          false);
    }));
    return submitted->run;
  }

  static NewModel wish(const runs::Run& run) {
    NewModel wanted;
    wanted.workspace = kWorkspace;
    wanted.name = "digits";
    wanted.run = run.id;
    wanted.path = "outputs/model";
    wanted.created_by = "test";
    return wanted;
  }
  ModelVersion add(const NewModel& wanted) {
    auto added = registry_.add(wanted);
    EXPECT_TRUE(added) << (added ? "" : added.error().message);
    return added ? added->model : ModelVersion();
  }
  std::vector<std::string> ids(const ModelFilter& filter) {
    std::vector<std::string> found;
    EXPECT_TRUE(store_->read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(const auto models, list_models(reader, kWorkspace, filter));
      for (const ModelVersion& model : models) found.push_back(to_text(reference_of(model)));
      return {};
    }));
    return found;
  }
  void end(const runs::Run& run) {
    EXPECT_TRUE(store_->write([&](store::Writer& writer) -> Status {
      SLIPWAY_ASSIGN(runs::Run now, runs::load_run(writer, run.id));
      return orchestrator_.transitions().cancel(writer, now, "the test ends it");
    }));
  }
  runs::Run load(const RunId& id) {
    runs::Run run;
    EXPECT_TRUE(store_->read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(run, runs::load_run(reader, id));
      return {};
    }));
    return run;
  }
  void sweep() {
    blobs::Sweeper sweeper(store_.database(), *blobs_, clock_, Duration(-1h));
    EXPECT_TRUE(sweeper.sweep());
  }

  store::TestStore store_;
  SystemClock clock_;
  Notifier notifier_;
  runs::LogStore logs_;
  std::unique_ptr<blobs::BlobStore> blobs_;
  std::unique_ptr<metrics::MetricStore> metrics_;
  compute::NodeRegistry nodes_;
  runs::Orchestrator orchestrator_;
  runs::Submissions submissions_;
  runs::Snapshots snapshots_;
  Trials trials_;
  Registry registry_;
};

TEST_F(RegistryTest, HoldsItsFilesWhenTheRunIsGoneAndLetsThemGoWithItself) {
  const runs::Run run = trained();
  const ModelVersion first = add(wish(run));
  const ModelVersion second = add(wish(run));
  EXPECT_EQ(second.version, 2);
  EXPECT_EQ(second.manifest, first.manifest);
  end(run);
  ASSERT_TRUE(runs::delete_run(store_.database(), *metrics_, logs_, load(run.id)));
  sweep();
  const auto files = registry_.files(first);
  ASSERT_TRUE(files);
  ASSERT_EQ(files->entries().size(), 1U);
  EXPECT_EQ(files->entries()[0].path, "model/w.bin");
  EXPECT_EQ(files->entries()[0].mode, 0644);
  const Digest content = files->entries()[0].digest;
  EXPECT_TRUE(blobs_->size_of(content));

  ASSERT_TRUE(registry_.remove(kWorkspace, reference_of(first)));
  sweep();
  EXPECT_TRUE(blobs_->size_of(content)) << "the second version has the same files";
  ASSERT_TRUE(registry_.remove(kWorkspace, reference_of(second)));
  sweep();
  EXPECT_FALSE(blobs_->size_of(content));
  EXPECT_EQ(store_.number("SELECT COUNT(*) FROM blob_refs"), 0);
  EXPECT_EQ(store_.number("SELECT COUNT(*) FROM model_pairs"), 0);
}

TEST_F(RegistryTest, UnusedSnapshotsAreDroppedButNotThoseOfModels) {
  const ModelVersion model = add(wish(trained()));
  ASSERT_TRUE(store_->write(
      [&](store::Writer& writer) { return runs::drop_unused_snapshots(writer, Timestamp{INT64_MAX}); }));
  EXPECT_TRUE(registry_.files(model));
}

TEST_F(RegistryTest, ListsTheNewestOfThoseThatFit) {
  NewModel wanted = wish(trained());
  wanted.trial = false;
  wanted.framework = ModelFramework::kOnnx;
  wanted.tags = {{"stage", "old"}};
  add(wanted);
  wanted.framework = ModelFramework::kKeras;
  wanted.tags = {{"stage", "new"}};
  add(wanted);
  wanted.name = "other";
  add(wanted);
  EXPECT_THAT(ids({}), ElementsAre("other:1", "digits:2", "digits:1"));
  ModelFilter latest;
  latest.latest = true;
  EXPECT_THAT(ids(latest), ElementsAre("other:1", "digits:2"));
  latest.framework = ModelFramework::kOnnx;
  EXPECT_THAT(ids(latest), ElementsAre("digits:1"));
  ModelFilter tagged;
  tagged.tags = {{.key = "stage", .value = "new"}};
  EXPECT_THAT(ids(tagged), ElementsAre("other:1", "digits:2"));
  tagged.tags = {{.key = "stage", .value = std::nullopt}};
  tagged.limit = 1;
  EXPECT_THAT(ids(tagged), ElementsAre("other:1"));
}

TEST_F(RegistryTest, IsNotDeletedWhileSomethingHoldsIt) {
  const ModelVersion model = add(wish(trained()));
  const ModelReference digits = reference_of(model);
  ASSERT_TRUE(store_->write([&](store::Writer& writer) {
    return hold_model(writer, kWorkspace, digits, "service/digits-svc", clock_.now());
  }));
  const auto refused = registry_.remove(kWorkspace, digits);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_THAT(refused.error().message, HasSubstr("the service digits-svc"));
  ASSERT_TRUE(store_->read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(const json::object uses, describe_uses(reader, model));
    EXPECT_EQ(json::serialize(uses.at("services")), R"(["digits-svc"])");
    return {};
  }));
  ASSERT_TRUE(store_->write(
      [&](store::Writer& writer) { return release_models(writer, kWorkspace, "service/digits-svc"); }));
  EXPECT_TRUE(registry_.remove(kWorkspace, digits));
  EXPECT_FALSE(store_->write([&](store::Writer& writer) {
    return hold_model(writer, kWorkspace, digits, "service/late", clock_.now());
  })) << "what is gone cannot be held";
}

TEST_F(RegistryTest, TriesAVersionOnceHoweverOftenItIsLookedAt) {
  NewModel wanted = wish(trained());
  wanted.framework = ModelFramework::kOnnx;
  const ModelVersion model = add(wanted);
  ASSERT_EQ(model.trial.state, Trial::State::kRunning);
  ASSERT_TRUE(model.trial.run);
  ModelVersion seen_before_the_start = model;
  seen_before_the_start.trial.run.reset();
  ASSERT_TRUE(trials_.settle(seen_before_the_start));
  EXPECT_EQ(seen_before_the_start.trial.run, model.trial.run);
  EXPECT_EQ(store_.number("SELECT COUNT(*) FROM runs WHERE kind = 'trial'"), 1);

  const runs::Run trial = load(*model.trial.run);
  EXPECT_EQ(trial.job.environment, "curated/onnx:1");
  EXPECT_THAT(trial.job.models, ElementsAre("digits:1"));
  EXPECT_THAT(trial.job.command, ElementsAre("slipway", "serve", "--trial", "${models.digits}"));
  EXPECT_GT(trial.job.timeout.count(), 0);
  EXPECT_FALSE(registry_.remove(kWorkspace, reference_of(model))) << "its trial uses it";
  end(trial);
  const auto now = registry_.find(kWorkspace, reference_of(model));
  ASSERT_TRUE(now);
  EXPECT_EQ(now->trial.state, Trial::State::kDone);
  EXPECT_FALSE(now->trial.serves);
  EXPECT_THAT(now->trial.reason, HasSubstr("was canceled"));
}

TEST_F(RegistryTest, TakesTheLastAnswerOfTheTrialAndNoOtherLine) {
  NewModel wanted = wish(trained());
  wanted.framework = ModelFramework::kOnnx;
  const ModelVersion model = add(wanted);
  const AttemptKey key{.run = *model.trial.run, .attempt = 0, .rank = 0};
  const std::string text =
      "{\"serves\": 1}\n{\"serves\": false, \"reason\": \"first\"}\n{broken\n"
      "{\"serves\": true, \"runtime\": \"onnx\", \"signature\": {\"a\": 1}}\nbye\n";
  journal::LogChunk chunk;
  chunk.name = "std_log.txt";
  chunk.bytes = text;
  ASSERT_TRUE(logs_.append(key, {chunk}));
  end(load(*model.trial.run));
  const auto now = registry_.find(kWorkspace, reference_of(model));
  ASSERT_TRUE(now);
  EXPECT_EQ(now->trial.serves, std::optional(true));
  EXPECT_EQ(json::serialize(now->trial.found.at("signature")), R"({"a":1})");
}

TEST_F(RegistryTest, RefusesPathsThatLeaveTheRunsFiles) {
  NewModel wanted = wish(trained());
  for (const char* path :
       {"..", "../x", "/etc/passwd", "outputs/../x", "", "outputs//model", "outputs/mod"}) {
    wanted.path = path;
    EXPECT_FALSE(registry_.add(wanted)) << path;
  }
  EXPECT_TRUE(ids({}).empty());
}

}  // namespace
}  // namespace slipway::models
