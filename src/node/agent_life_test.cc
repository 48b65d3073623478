// Whole lives of attempts: a real agent, real supervisors, and a control plane of a few routes.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include "launch/plan.h"
#include "node/agent_fixture.h"

namespace slipway::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class AgentLife : public AgentTest {
 protected:
  bool wait_finished(const AttemptOrder& order) {
    return server_.wait_until(order.key, [](const Told& told) { return told.finished > 0; });
  }
  // Gone, or waiting for whoever inherited it to take note.
  static bool is_dead(pid_t pid) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    return !stat || stat->contains(") Z ");
  }
  // A job that says "up" and lives until its folder has a file `go`, then exits with 7.
  AttemptOrder waiting_job(const std::string& name) {
    return shell_job(name, "echo up; while [ ! -e go ]; do sleep 0.02; done; echo down; exit 7");
  }
  void let_go(const AttemptOrder& order) { std::ofstream(folder(order.key) / "work/go") << "x"; }
  bool wait_exited(const AttemptOrder& order) {
    return wait_for([&] { return !FileLock::is_held(folder(order.key) / "lock"); });
  }
};

TEST_F(AgentLife, BringsAJobFromItsOrderToItsEndAndLeavesNothing) {
  start_agent();
  const AttemptOrder order =
      shell_job("digits-1", "echo hello; mkdir -p outputs/m; printf w > outputs/m/weights; exit 3");
  server_.order(order);
  ASSERT_TRUE(wait_finished(order));
  ASSERT_TRUE(wait_gone(order.key));
  const Told told = server_.told(order.key);
  EXPECT_EQ(told.claims, 1);
  EXPECT_EQ(told.log(), "hello\n");
  ASSERT_TRUE(told.exit());
  EXPECT_EQ(told.exit()->code, 3);
  ASSERT_TRUE(told.files.contains("outputs/m/weights"));
  EXPECT_EQ(server_.blobs.at(told.files.at("outputs/m/weights")), "w");
  EXPECT_EQ(told.finished, 1);
}

TEST_F(AgentLife, AnOrderThatComesAgainStartsNothingTwice) {
  start_agent();
  const AttemptOrder order = waiting_job("digits-1");
  server_.order(order);
  server_.send_start(order.key);
  ASSERT_TRUE(wait_for_log(order, "up"));
  server_.send_start(order.key);
  let_go(order);
  ASSERT_TRUE(wait_finished(order));
  EXPECT_EQ(server_.told(order.key).claims, 1);
  EXPECT_THAT(server_.told(order.key).phases(), ElementsAre("starting", "running"));
}

TEST_F(AgentLife, ANewAgentGoesOnWithAJobThatRuns) {
  start_agent();
  const AttemptOrder order = waiting_job("digits-1");
  server_.order(order);
  ASSERT_TRUE(wait_for_log(order, "up"));
  stop_agent();
  EXPECT_TRUE(FileLock::is_held(folder(order.key) / "lock")) << "the job outlives its agent";
  start_agent();
  ASSERT_TRUE(wait_for([&] {
    std::vector<AttemptKey> held;
    server_.with([&] { held = server_.last_held; });
    return held == std::vector{order.key};
  }));
  let_go(order);
  ASSERT_TRUE(wait_finished(order));
  const Told told = server_.told(order.key);
  EXPECT_EQ(told.exit()->code, 7);
  EXPECT_EQ(told.log(), "up\ndown\n");
  EXPECT_EQ(told.claims, 1);
  EXPECT_THAT(told.phases(), ElementsAre("starting", "running"));
}

TEST_F(AgentLife, TheTrueExitCodeOfAJobThatEndedMeanwhileIsKept) {
  start_agent();
  const AttemptOrder order = waiting_job("digits-1");
  server_.order(order);
  ASSERT_TRUE(wait_for_log(order, "up"));
  stop_agent();
  let_go(order);
  ASSERT_TRUE(wait_exited(order));
  start_agent();
  ASSERT_TRUE(wait_finished(order));
  EXPECT_EQ(server_.told(order.key).exit()->code, 7);
  EXPECT_EQ(server_.told(order.key).log(), "up\ndown\n");
  EXPECT_TRUE(wait_gone(order.key));
}

TEST_F(AgentLife, ASupervisorThatIsKilledTakesItsJobWithItAndIsReported) {
  start_agent();
  const AttemptOrder order = shell_job("digits-1", "echo $$; exec sleep 600");
  server_.order(order);
  ASSERT_TRUE(wait_for_log(order, "\n"));
  const pid_t job = std::stoi(server_.told(order.key).log());
  ::kill(FileLock::holder(folder(order.key) / "lock")->pid, SIGKILL);
  ASSERT_TRUE(wait_finished(order));
  const auto exit = server_.told(order.key).exit();
  EXPECT_THAT(exit->reason, HasSubstr("supervisor of this run ended unexpectedly: signal 9"));
  EXPECT_FALSE(exit->good());
  EXPECT_TRUE(is_dead(job)) << "the job is left behind";
  EXPECT_TRUE(wait_gone(order.key));
}

TEST_F(AgentLife, ASupervisorThatDiedWhileNoAgentLookedIsReportedByTheNext) {
  start_agent();
  const AttemptOrder order = shell_job("digits-1", "echo up; exec sleep 600");
  server_.order(order);
  ASSERT_TRUE(wait_for_log(order, "up"));
  stop_agent();
  ::kill(FileLock::holder(folder(order.key) / "lock")->pid, SIGKILL);
  start_agent();
  ASSERT_TRUE(wait_finished(order));
  EXPECT_THAT(server_.told(order.key).exit()->reason, HasSubstr("was killed or its machine restarted"));
}

TEST_F(AgentLife, AnIntentionWithoutASupervisorIsCarriedOutOnceIfTheServerStillWantsIt) {
  const AttemptOrder wanted = shell_job("digits-1", "echo once");
  const AttemptOrder unwanted = shell_job("digits-2", "echo never > /dev/null");
  for (const AttemptOrder& order : {wanted, unwanted}) {
    ASSERT_TRUE(make_folders(folder(order.key) / "work/outputs"));
    ASSERT_TRUE(make_folders(folder(order.key) / "journal"));
    const auto spec = launch::supervisor_spec(order, {.folder = folder(order.key),
                                                      .url = "",
                                                      .environment = {},
                                                      .mark = "m",
                                                      .path_prefix = "",
                                                      .variables = {}});
    ASSERT_TRUE(launch::write_spec(folder(order.key), *spec, order));
  }
  server_.stale.insert(unwanted.key);
  server_.order(wanted);
  start_agent();
  ASSERT_TRUE(wait_finished(wanted));
  EXPECT_EQ(server_.told(wanted.key).log(), "once\n");
  ASSERT_TRUE(wait_gone(unwanted.key));
  EXPECT_EQ(server_.told(unwanted.key).journal, "");
}

TEST_F(AgentLife, AFolderWithoutAnIntentionIsClearedAway) {
  const AttemptOrder order = shell_job("digits-1", "true");
  ASSERT_TRUE(make_folders(folder(order.key) / "work"));
  start_agent();
  EXPECT_FALSE(fs::exists(folder(order.key)));
}

TEST_F(AgentLife, AFencedAttemptIsKilledAndNothingMoreIsSaidOfIt) {
  start_agent();
  const AttemptOrder order =
      shell_job("digits-1", "echo $$; trap '' TERM; while :; do echo x; sleep 0.02; done");
  server_.order(order);
  ASSERT_TRUE(wait_for_log(order, "x"));
  const pid_t job = std::stoi(server_.told(order.key).log());
  server_.with([&] { server_.stale.insert(order.key); });
  ASSERT_TRUE(wait_gone(order.key));
  EXPECT_TRUE(is_dead(job));
  EXPECT_EQ(server_.told(order.key).finished, 0);
}

TEST_F(AgentLife, AHeartbeatsAnswerFencesASilentJob) {
  start_agent();
  const AttemptOrder order = shell_job("digits-1", "echo up; exec sleep 600");
  server_.order(order);
  ASSERT_TRUE(wait_for_log(order, "up"));
  server_.with([&] { server_.kill.insert(order.key); });
  EXPECT_TRUE(wait_gone(order.key));
}

TEST_F(AgentLife, AnOrderToFenceIsCarriedOutAtOnce) {
  start_agent();
  const AttemptOrder order = shell_job("digits-1", "trap '' TERM; echo up; while :; do sleep 0.02; done");
  server_.order(order);
  ASSERT_TRUE(wait_for_log(order, "up"));
  server_.send("fence", to_json(order.key));
  ASSERT_TRUE(wait_gone(order.key));
  EXPECT_EQ(server_.told(order.key).finished, 0);
}

TEST_F(AgentLife, CancelEndsTheJobAndItsEndIsKept) {
  start_agent();
  const AttemptOrder order =
      shell_job("digits-1", "trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.02; done");
  server_.order(order);
  ASSERT_TRUE(wait_for_log(order, "up"));
  json::object cancel = to_json(order.key);
  cancel["reason"] = "canceled by ann";
  cancel["grace_seconds"] = 5;
  server_.send("cancel", cancel);
  server_.send("cancel", cancel);
  ASSERT_TRUE(wait_finished(order));
  EXPECT_TRUE(server_.told(order.key).exit()->canceled);
  EXPECT_THAT(server_.told(order.key).log(), HasSubstr("bye\n"));
}

TEST_F(AgentLife, CancelBeforeTheStartStartsNothing) {
  start_agent();
  const AttemptOrder order = shell_job("digits-1", "sleep 600; echo started");
  ASSERT_TRUE(wait_for([&] {
    bool registered = false;
    server_.with([&] { registered = server_.heartbeats > 1; });
    return registered;
  }));
  server_.with([&] { server_.away = true; });  // the stream of orders stays, the claim waits
  server_.order(order);
  json::object cancel = to_json(order.key);
  cancel["reason"] = "canceled by ann";
  server_.send("cancel", cancel);
  server_.with([&] { server_.away = false; });
  ASSERT_TRUE(wait_finished(order));
  EXPECT_TRUE(server_.told(order.key).exit()->canceled);
  EXPECT_EQ(server_.told(order.key).log(), "");
}

TEST_F(AgentLife, AServerThatIsAwayLosesNothingAndDelaysNothing) {
  start_agent();
  const AttemptOrder order = waiting_job("digits-1");
  server_.order(order);
  ASSERT_TRUE(wait_for_log(order, "up"));
  const uint16_t port = server_.port();
  server_.stop();
  let_go(order);
  ASSERT_TRUE(wait_exited(order));
  server_.start(port);
  ASSERT_TRUE(wait_finished(order));
  EXPECT_EQ(server_.told(order.key).exit()->code, 7);
  EXPECT_EQ(server_.told(order.key).log(), "up\ndown\n");
}

TEST_F(AgentLife, AServerThatComesBackElsewhereIsFoundInAgentJson) {
  start_agent();
  const AttemptOrder order = waiting_job("digits-1");
  server_.order(order);
  ASSERT_TRUE(wait_for_log(order, "up"));
  const uint16_t port = server_.port();
  server_.stop();
  server_.start();
  ASSERT_NE(server_.port(), port);
  NodeCapacity capacity;
  const json::object config{{"url", server_.url()}, {"node", "local-1"}, {"capacity", to_json(capacity)}};
  ASSERT_TRUE(replace_file(paths_.config(), json::serialize(config)));
  let_go(order);
  EXPECT_TRUE(wait_finished(order));
}

TEST_F(AgentLife, AnEnvironmentThatCannotBeMadeFailsTheAttemptWithASentence) {
  start_agent();
  AttemptOrder order = shell_job("digits-1", "true");
  order.environment.name = "mine";
  order.environment.version = 1;
  order.environment.key = "k";
  order.environment.definition.user_managed = true;
  order.environment.definition.interpreter = "/no/such/python";
  server_.order(order);
  ASSERT_TRUE(server_.wait_until(order.key, [](const Told& told) { return !told.failed.empty(); }));
  EXPECT_THAT(server_.told(order.key).failed, HasSubstr("/no/such/python"));
  EXPECT_TRUE(wait_gone(order.key));
}

TEST_F(AgentLife, TheSnapshotIsFetchedOnceAndCopiedForEachAttempt) {
  start_agent();
  AttemptOrder first = shell_job("digits-1", "cat src/a.txt; ./run.sh; echo damaged > src/a.txt");
  first.job.snapshot =
      server_.add_snapshot({{"src/a.txt", "one\n"}, {"run.sh", "#!/bin/sh\necho two\n"}, {"b", "one\n"}});
  server_.order(first);
  ASSERT_TRUE(wait_finished(first));
  EXPECT_EQ(server_.told(first.key).log(), "one\ntwo\n");
  AttemptOrder second = first;
  second.key.run = RunId("digits-2");
  server_.order(second);
  ASSERT_TRUE(wait_finished(second));
  EXPECT_EQ(server_.told(second.key).log(), "one\ntwo\n") << "the first job has damaged the cache";
  EXPECT_EQ(server_.packs_asked, 1);
}

TEST_F(AgentLife, OutputsAreKeptWhileTheJobRuns) {
  start_agent();
  const AttemptOrder order = shell_job(
      "digits-1", "printf 1 > outputs/a; while [ ! -e go ]; do sleep 0.02; done; printf 22 > outputs/a");
  server_.order(order);
  ASSERT_TRUE(
      server_.wait_until(order.key, [](const Told& told) { return told.files.contains("outputs/a"); }));
  EXPECT_EQ(server_.told(order.key).finished, 0);
  let_go(order);
  ASSERT_TRUE(wait_finished(order));
  EXPECT_EQ(server_.blobs.at(server_.told(order.key).files.at("outputs/a")), "22");
}

TEST_F(AgentLife, OddThingsInOutputsAreListedAndDoNotKeepARunFromEnding) {
  start_agent();
  const AttemptOrder order = shell_job(
      "digits-1",
      "cd outputs; ln -s /etc/passwd link; mkfifo pipe; printf x > good; printf y > \"$(printf 'b\\377d')\"");
  server_.order(order);
  ASSERT_TRUE(wait_finished(order));
  const Told told = server_.told(order.key);
  EXPECT_EQ(told.files.size(), 1U);
  EXPECT_TRUE(told.files.contains("outputs/good"));
  EXPECT_EQ(told.skipped.at("outputs/link"), "it is a symbolic link");
  EXPECT_EQ(told.skipped.at("outputs/pipe"), "it is a FIFO");
  EXPECT_EQ(told.skipped.at("outputs/b\\xffd"), "its name is not UTF-8");
  EXPECT_EQ(told.exit()->code, 0);
}

TEST_F(AgentLife, AShortJobCostsFewRequests) {
  start_agent();
  const AttemptOrder order = shell_job("digits-1", "true");
  server_.order(order);
  ASSERT_TRUE(wait_finished(order));
  EXPECT_LE(server_.told(order.key).journal_posts, 3);
}

TEST_F(AgentLife, ADrainedAgentTakesNothingNewAndEndsWhenItIsEmpty) {
  start_agent();
  const AttemptOrder order = waiting_job("digits-1");
  server_.order(order);
  ASSERT_TRUE(wait_for_log(order, "up"));
  server_.send("drain", {});
  const AttemptOrder late = shell_job("digits-2", "true");
  server_.order(late);
  let_go(order);
  EXPECT_TRUE(agent_ended(std::chrono::seconds(30)));
  EXPECT_EQ(server_.told(order.key).finished, 1);
  EXPECT_EQ(server_.told(late.key).claims, 0);
}

TEST_F(AgentLife, AnAgentThatIsRefusedForGoodKeepsItsJobsAndEndsWithoutThem) {
  options_.order_times.refused_for_good = std::chrono::milliseconds(300);
  start_agent();
  const AttemptOrder order = waiting_job("digits-1");
  server_.order(order);
  ASSERT_TRUE(wait_for_log(order, "up"));
  server_.with([&] { server_.refuses_node = true; });
  EXPECT_FALSE(agent_ended(std::chrono::seconds(1)));
  EXPECT_TRUE(FileLock::is_held(folder(order.key) / "lock")) << "the job goes on";
  server_.with([&] { server_.refuses_node = false; });
  let_go(order);
  ASSERT_TRUE(wait_finished(order));
  server_.with([&] { server_.refuses_node = true; });
  EXPECT_TRUE(agent_ended(std::chrono::seconds(30)));
}

TEST_F(AgentLife, ASecondAgentOfTheSameNodeIsRefused) {
  start_agent();
  const auto second = Agent::create(options_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace slipway::node
