// For the agent's tests: a control plane of a few routes on a real socket, that can lose answers, be away and
// disown attempts; and a node's home for real agents with real supervisors.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "http/server.h"
#include "journal/record.h"
#include "node/agent.h"
#include "snapshot/manifest.h"

namespace slipway::node {

// What the server has been told of one attempt.
struct Told {
  int claims = 0;
  std::string journal;
  std::map<std::string, std::string> files;  // path -> digest
  std::map<std::string, std::string> skipped;
  std::string failed;
  int finished = 0;
  int journal_posts = 0;

  std::string log() const;  // stdout and stderr
  std::vector<std::string> phases() const;
  std::optional<ExitStatus> exit() const;  // checks that sequence numbers have neither gap nor repetition
};

class FakeServer final : public http::Authoriser {
 public:
  FakeServer();
  ~FakeServer() override;

  void start(uint16_t port = 0);
  void stop();
  std::string url() const;
  uint16_t port() const { return port_; }

  // Places an order for the job and sends the start.
  void order(const AttemptOrder& order);
  void send(const std::string& event, const json::object& data);
  void send_start(const AttemptKey& key) { send("start", to_json(key)); }

  Told told(const AttemptKey& key);
  // Waits, for at most 30 seconds, until it holds of what was told.
  bool wait_until(const AttemptKey& key, const std::function<bool(const Told&)>& holds);
  void with(const std::function<void()>& change) {
    const std::lock_guard lock(mutex_);
    change();
  }
  std::string add_snapshot(const std::map<std::string, std::string>& files);

  // Change under `with`.
  bool away = false;        // answers 503 to everything
  int lose_answers = 0;     // journal batches that are stored and answered 503
  bool keeps_half = false;  // stores only the first record of a batch
  bool refuses_node = false;
  bool drain = false;
  std::set<AttemptKey> stale;
  std::set<AttemptKey> kill;
  std::map<std::string, std::string> blobs;  // by digest
  int packs_asked = 0;
  int heartbeats = 0;
  int registrations = 0;
  std::vector<AttemptKey> last_held;

  Result<http::Caller> authorise(const http::Request& request, http::Access needed) override;

 private:
  friend class FakeOrders;
  void add_routes();
  void add_blob_routes();
  Result<http::Response> take_journal(const http::Request& request, const AttemptKey& key);
  Result<http::Response> take_files(const http::Request& request, const AttemptKey& key);
  http::Handler about_attempt(
      std::function<Result<http::Response>(const http::Request&, const AttemptKey&)> handler);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<AttemptKey, Told> told_;
  std::map<AttemptKey, AttemptOrder> orders_;
  std::map<std::string, std::string> snapshots_;
  std::vector<http::Event> events_;
  bool streams_end_ = false;
  uint16_t port_ = 0;
  http::Router router_;
  Notifier notifier_;
  std::unique_ptr<http::Server> server_;
};

// A home with one node, and agents for it.
class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  void start_agent();
  // As SIGTERM does: supervisors live on.
  void stop_agent();
  bool agent_ended(std::chrono::seconds within);
  AttemptOrder shell_job(const std::string& name, const std::string& script);
  std::filesystem::path folder(const AttemptKey& key) const { return paths_.attempt(key); }
  bool wait_gone(const AttemptKey& key) const;
  static bool wait_for(const std::function<bool()>& holds);
  // Waits for a journal of that attempt that shows the text.
  bool wait_for_log(const AttemptOrder& order, const std::string& text);

  FakeServer server_;
  std::filesystem::path home_;
  NodePaths paths_;
  AgentOptions options_;
  std::unique_ptr<Agent> agent_;
  std::thread agent_thread_;
  std::atomic<bool> agent_ended_ = false;
};

}  // namespace slipway::node
