#include "node/agent_fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include "node/supervisor.h"

namespace slipway::node {
namespace {

// The agents of these tests start this very program as their supervisor.
class SupervisorMode final : public ::testing::Environment {
 public:
  void SetUp() override {
    const auto line = read_file("/proc/self/cmdline");
    const std::string marker("supervise\0", 10);
    const size_t at = line ? line->find(marker) : std::string::npos;
    if (at == std::string::npos) return;
    const Status status = supervise(line->c_str() + at + marker.size());
    ::_exit(status ? 0 : 1);
  }
};

const auto* const kMode = ::testing::AddGlobalTestEnvironment(new SupervisorMode);

}  // namespace

void AgentTest::SetUp() {
  std::string pattern = (std::filesystem::temp_directory_path() / "slipway-agent-XXXXXX").string();
  home_ = ::mkdtemp(pattern.data());
  paths_ = {.home = home_, .node = NodeId("local-1")};
  ASSERT_TRUE(make_folders(paths_.attempts()));
  server_.start();
  options_.home = home_;
  options_.node = paths_.node;
  options_.attempt_times.outputs_every = std::chrono::milliseconds(50);
  options_.attempt_times.outputs_settled = std::chrono::milliseconds(100);
  options_.attempt_times.kill_patience = std::chrono::seconds(2);
  options_.order_times.backoff_cap = std::chrono::milliseconds(200);
  NodeCapacity capacity;
  capacity.cpus = 2;
  capacity.memory_bytes = 1 << 30;
  const json::object config{{"url", server_.url()}, {"node", "local-1"}, {"capacity", to_json(capacity)}};
  ASSERT_TRUE(replace_file(paths_.config(), json::serialize(config)));
  ASSERT_TRUE(replace_file(paths_.token(), "node-token\n"));
}

void AgentTest::TearDown() {
  // I4, whatever the test did: nothing lives on in the folders.
  for (const auto& entry : std::filesystem::directory_iterator(paths_.attempts())) {
    if (const auto key = attempt_key_from_name(entry.path().filename().native()))
      server_.with([&] { server_.kill.insert(*key); });
  }
  if (agent_ != nullptr) {
    wait_for([&] { return std::filesystem::is_empty(paths_.attempts()); });
    stop_agent();
  }
  server_.stop();
  std::filesystem::remove_all(home_);
}

void AgentTest::start_agent() {
  auto agent = Agent::create(options_);
  ASSERT_TRUE(agent) << agent.error().message;
  agent_ = std::move(*agent);
  agent_ended_ = false;
  agent_thread_ = std::thread([this] {
    agent_->run();
    agent_ended_ = true;
  });
}

void AgentTest::stop_agent() {
  agent_->stop();
  agent_thread_.join();
  agent_.reset();
}

bool AgentTest::agent_ended(std::chrono::seconds within) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (!agent_ended_ && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return agent_ended_;
}

AttemptOrder AgentTest::shell_job(const std::string& name, const std::string& script) {
  AttemptOrder order;
  order.key = {.run = RunId(name), .attempt = 1, .rank = 0};
  order.workspace = WorkspaceName("default");
  order.job.command = {"/bin/sh", "-c", script};
  order.granted = {.cpus = 1, .memory_bytes = 256 << 20, .gpus = 0};
  order.run_token = Secret("run-token");
  return order;
}

bool AgentTest::wait_for(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

bool AgentTest::wait_gone(const AttemptKey& key) const {
  return wait_for([&] { return !std::filesystem::exists(folder(key)); });
}

bool AgentTest::wait_for_log(const AttemptOrder& order, const std::string& text) {
  return server_.wait_until(order.key, [&](const Told& told) { return told.log().contains(text); });
}

}  // namespace slipway::node
