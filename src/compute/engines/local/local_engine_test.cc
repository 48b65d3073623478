// Drives the engine with real processes: this test program acts as the agent when it is started as one.
#include "compute/engines/local/local_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "compute/engines/local/agent_process.h"
#include "store/testing.h"

namespace slipway::compute {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr Duration kPatience = std::chrono::seconds(20);

// The stand-in for `slipway agent`: takes the lock and waits for SIGTERM. A file "crash" in its folder makes
// it end at once, "deaf" makes it ignore SIGTERM; "starts" gets a line for each start.
int act_as_agent(const fs::path& folder) {
  const auto lock = FileLock::try_take(folder / "lock");
  if (!lock || !*lock) return 4;
  std::ofstream(folder / "starts", std::ios::app) << ::getpid() << "\n";
  if (fs::exists(folder / "crash")) return 3;
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::ofstream(folder / "ready") << "yes";
  int number = 0;
  do ::sigwait(&signals, &number);
  while (fs::exists(folder / "deaf"));
  return 0;
}

__attribute__((constructor)) void become_an_agent_when_started_as_one(int argc, char** argv) {
  if (argc == 6 && std::string_view(argv[1]) == "agent")
    ::_exit(act_as_agent(fs::path(argv[3]) / "nodes" / argv[5]));
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class LocalEngineTest : public testing::Test {
 protected:
  LocalEngineTest() { start_server(); }
  ~LocalEngineTest() override {
    if (engine_) EXPECT_TRUE(engine_->stop_agents(kPatience));
    engine_.reset();
  }

  // As after a restart of the server: another engine on the same home.
  void start_server() {
    LocalEngineOptions options;
    options.home = home_.path();
    options.url = url_;
    options.make_token = [this](const NodeId&) -> Result<Secret> {
      ++tokens_;
      return Secret("slw_abc_secret");
    };
    options.stop_grace = std::chrono::milliseconds(100);
    options.restart_wait = restart_wait_;
    engine_ = std::make_unique<LocalEngine>(std::move(options), [this](const NodeEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
      news_.notify_all();
    });
  }

  static NodeOrder order(const std::string& id) {
    return {.node = NodeId(id),
            .cluster = {WorkspaceName("default"), ClusterName("cpu")},
            .capacity = {.cpus = 2, .memory_bytes = 1 << 30, .gpus = 1, .gpu_names = {"H200"}},
            .gpu_indices = {3}};
  }

  fs::path folder(const std::string& id) const { return home_.path() / "nodes" / id; }
  EngineNode find(const std::string& id) {
    for (const EngineNode& node : engine_->nodes())
      if (node.node.str() == id) return node;
    return {};
  }
  bool wait_until_ready(const std::string& id) {
    return eventually([&] { return fs::exists(folder(id) / "ready") && find(id).alive; });
  }
  size_t starts(const std::string& id) {
    const auto text = read_file(folder(id) / "starts");
    return text ? static_cast<size_t>(std::ranges::count(*text, '\n')) : 0;
  }
  std::optional<NodeEvent> wait_for(NodeEventKind kind, size_t count = 1) {
    std::unique_lock lock(mutex_);
    std::optional<NodeEvent> found;
    news_.wait_for(lock, kPatience, [&] {
      size_t seen = 0;
      for (const NodeEvent& event : events_)
        if (event.kind == kind && ++seen == count) found = event;
      return found.has_value();
    });
    return found;
  }

  store::TestFolder home_;
  std::string url_ = "http://127.0.0.1:7070";
  Duration restart_wait_ = std::chrono::milliseconds(1);
  int tokens_ = 0;
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<NodeEvent> events_;
  std::unique_ptr<LocalEngine> engine_;
};

TEST_F(LocalEngineTest, StartsANodeWithItsFilesInASessionOfItsOwn) {
  ASSERT_TRUE(engine_->start_node(order("cpu-1")));
  ASSERT_TRUE(wait_until_ready("cpu-1"));
  EXPECT_NE(::getsid(find("cpu-1").pid), ::getsid(0));
  const auto document = parse_json_object(*read_file(folder("cpu-1") / "agent.json"), "agent.json");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->at("url").as_string(), url_);
  EXPECT_EQ(document->at("node").as_string(), "cpu-1");
  EXPECT_EQ(document->at("capacity").at("cpus").to_number<double>(), 2);
  EXPECT_EQ(document->at("gpu_indices").at(0).as_int64(), 3);
  struct stat token{};
  ASSERT_EQ(::stat((folder("cpu-1") / "token").c_str(), &token), 0);
  EXPECT_EQ(token.st_mode & 0777, 0600U);
  EXPECT_EQ(*read_file(folder("cpu-1") / "token"), "slw_abc_secret\n");
}

TEST_F(LocalEngineTest, StartingTwiceGivesOneAgent) {
  ASSERT_TRUE(engine_->start_node(order("cpu-1")));
  ASSERT_TRUE(engine_->start_node(order("cpu-1")));
  ASSERT_TRUE(wait_until_ready("cpu-1"));
  EXPECT_EQ(starts("cpu-1"), 1U);
  EXPECT_EQ(tokens_, 1);
}

TEST_F(LocalEngineTest, AStoppedNodeLeavesNothingBehind) {
  ASSERT_TRUE(engine_->start_node(order("cpu-1")));
  ASSERT_TRUE(wait_until_ready("cpu-1"));
  const int pid = find("cpu-1").pid;
  ASSERT_TRUE(engine_->stop_node(NodeId("cpu-1")));
  ASSERT_TRUE(wait_for(NodeEventKind::kGone));
  EXPECT_FALSE(fs::exists(folder("cpu-1")));
  EXPECT_TRUE(engine_->nodes().empty());
  EXPECT_EQ(::kill(pid, 0), -1) << "neither running nor a zombie";
  EXPECT_TRUE(engine_->stop_node(NodeId("cpu-1"))) << "repeating is harmless";
}

TEST_F(LocalEngineTest, AnAgentThatIgnoresSigtermIsKilledAfterTheGrace) {
  ASSERT_TRUE(engine_->start_node(order("cpu-1")));
  ASSERT_TRUE(wait_until_ready("cpu-1"));
  std::ofstream(folder("cpu-1") / "deaf") << "yes";
  ASSERT_TRUE(engine_->stop_node(NodeId("cpu-1")));
  EXPECT_TRUE(wait_for(NodeEventKind::kGone));
}

TEST_F(LocalEngineTest, AKilledAgentIsStartedAgainAtOnce) {
  ASSERT_TRUE(engine_->start_node(order("cpu-1")));
  ASSERT_TRUE(wait_until_ready("cpu-1"));
  const int first = find("cpu-1").pid;
  ::kill(first, SIGKILL);
  const auto died = wait_for(NodeEventKind::kDied);
  ASSERT_TRUE(died);
  EXPECT_EQ(died->deaths, 1);
  EXPECT_THAT(died->reason, HasSubstr("signal 9"));
  EXPECT_TRUE(eventually([&] { return starts("cpu-1") == 2; }));
  EXPECT_NE(find("cpu-1").pid, first);
  EXPECT_EQ(tokens_, 1) << "the token of the node stays";
}

TEST_F(LocalEngineTest, AnAgentThatKeepsDyingIsStartedMoreAndMoreRarely) {
  engine_.reset();
  restart_wait_ = std::chrono::milliseconds(40);
  start_server();
  fs::create_directories(folder("cpu-1"));
  std::ofstream(folder("cpu-1") / "crash") << "yes";
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(engine_->start_node(order("cpu-1")));
  const auto third = wait_for(NodeEventKind::kDied, 4);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->deaths, 4);
  EXPECT_THAT(third->reason, HasSubstr("exit code 3"));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(40 + 80));
  ASSERT_TRUE(engine_->stop_node(NodeId("cpu-1")));
  EXPECT_TRUE(wait_for(NodeEventKind::kGone));
}

TEST_F(LocalEngineTest, AgentsOutliveTheServerAndAreTakenUpByTheNext) {
  ASSERT_TRUE(engine_->start_node(order("cpu-1")));
  ASSERT_TRUE(wait_until_ready("cpu-1"));
  const int pid = find("cpu-1").pid;
  engine_.reset();
  EXPECT_EQ(::kill(pid, 0), 0);
  start_server();
  ASSERT_TRUE(engine_->recover({order("cpu-1")}));
  EXPECT_TRUE(find("cpu-1").alive);
  EXPECT_EQ(find("cpu-1").pid, pid);
  EXPECT_EQ(starts("cpu-1"), 1U);
  ASSERT_TRUE(engine_->stop_node(NodeId("cpu-1")));
  EXPECT_TRUE(wait_for(NodeEventKind::kGone));
}

TEST_F(LocalEngineTest, AWantedNodeThatDiedWithTheServerIsStartedByTheNext) {
  ASSERT_TRUE(engine_->start_node(order("cpu-1")));
  ASSERT_TRUE(wait_until_ready("cpu-1"));
  ASSERT_TRUE(engine_->stop_agents(kPatience));
  EXPECT_FALSE(find("cpu-1").alive);
  EXPECT_TRUE(fs::exists(folder("cpu-1")));
  engine_.reset();
  start_server();
  ASSERT_TRUE(engine_->recover({order("cpu-1"), order("cpu-2")}));
  EXPECT_TRUE(eventually([&] { return starts("cpu-1") == 2 && starts("cpu-2") == 1; }));
}

TEST_F(LocalEngineTest, WhatIsNotWantedAnyMoreIsEndedAndRemoved) {
  ASSERT_TRUE(engine_->start_node(order("cpu-1")));
  ASSERT_TRUE(wait_until_ready("cpu-1"));
  engine_.reset();
  fs::create_directories(folder("dead-1") / "attempts" / "run-x.1.0");
  start_server();
  ASSERT_TRUE(engine_->recover({}));
  ASSERT_TRUE(wait_for(NodeEventKind::kGone, 2));
  EXPECT_FALSE(fs::exists(folder("cpu-1")));
  EXPECT_FALSE(fs::exists(folder("dead-1")));
}

TEST_F(LocalEngineTest, ASupervisorOfAnUnwantedNodeIsToldToKillBeforeTheFolderGoes) {
  const fs::path attempt = folder("dead-1") / "attempts" / "run-x.1.0";
  fs::create_directories(attempt);
  auto supervisor = FileLock::try_take(attempt / "lock");
  ASSERT_TRUE(supervisor && supervisor->has_value());
  ASSERT_TRUE(engine_->recover({}));
  ASSERT_TRUE(eventually([&] { return fs::exists(attempt / "cancel.json"); }));
  const auto order = parse_json_object(*read_file(attempt / "cancel.json"), "cancel.json");
  ASSERT_TRUE(order);
  EXPECT_TRUE(order->at("kill").as_bool());
  EXPECT_TRUE(fs::exists(attempt));
  supervisor->reset();
  ASSERT_TRUE(wait_for(NodeEventKind::kGone));
  EXPECT_FALSE(fs::exists(folder("dead-1")));
}

TEST_F(LocalEngineTest, AnAgentThatKnowsAnotherAddressIsStartedAgainWithTheNewOne) {
  ASSERT_TRUE(engine_->start_node(order("cpu-1")));
  ASSERT_TRUE(wait_until_ready("cpu-1"));
  engine_.reset();
  url_ = "http://127.0.0.1:9999";
  start_server();
  ASSERT_TRUE(engine_->recover({order("cpu-1")}));
  EXPECT_TRUE(eventually([&] { return starts("cpu-1") == 2; }));
  EXPECT_THAT(*read_file(folder("cpu-1") / "agent.json"), HasSubstr("9999"));
}

TEST_F(LocalEngineTest, AnAgentThatKnowsAnotherAddressAndDoesNotEndIsKilled) {
  ASSERT_TRUE(engine_->start_node(order("cpu-1")));
  ASSERT_TRUE(wait_until_ready("cpu-1"));
  std::ofstream(folder("cpu-1") / "deaf") << "yes";
  engine_.reset();
  url_ = "http://127.0.0.1:9999";
  start_server();
  ASSERT_TRUE(engine_->recover({order("cpu-1")}));
  EXPECT_TRUE(eventually([&] { return starts("cpu-1") == 2; }));
}

TEST_F(LocalEngineTest, ANodeThatCannotBeStartedIsAnErrorAndLeavesNothing) {
  engine_.reset();
  LocalEngineOptions options;
  options.home = home_.path();
  options.program = home_.path() / "no-such-program";
  options.make_token = [](const NodeId&) -> Result<Secret> { return Secret("t"); };
  LocalEngine broken(std::move(options), [this](const NodeEvent& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    news_.notify_all();
  });
  const Status status = broken.start_node(order("cpu-1"));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("no-such-program"));
  EXPECT_TRUE(wait_for(NodeEventKind::kGone));
  EXPECT_FALSE(fs::exists(folder("cpu-1")));
}

TEST_F(LocalEngineTest, AReusedPidInAStaleLockIsNeverSignalled) {
  // The file names a living process, but nobody holds the lock: as after the agent died and its pid went to
  // another.
  fs::create_directories(folder("dead-1"));
  std::ofstream(folder("dead-1") / "lock") << ::getpid() << " " << *process_start_ticks(::getpid()) << "\n";
  EXPECT_FALSE(AgentProcess::adopt(folder("dead-1") / "lock"));
  ASSERT_TRUE(engine_->recover({}));
  EXPECT_TRUE(wait_for(NodeEventKind::kGone));
}

}  // namespace
}  // namespace slipway::compute
