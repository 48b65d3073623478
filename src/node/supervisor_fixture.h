// For tests: an attempt's folder, a real supervisor in a child process, and its journal read back.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/cgroup_places.h"
#include "base/file.h"
#include "journal/reader.h"
#include "journal/record.h"
#include "journal/value.h"
#include "launch/spec.h"
#include "node/process_group_marked.h"
#include "node/supervisor.h"

namespace slipway::node {

struct Account {
  std::map<std::string, std::string> logs;  // by stream
  std::string standard_out;
  std::string standard_error;
  std::vector<std::string> phases;
  std::vector<journal::MetricPoint> points;
  std::vector<journal::LoggedValue> values;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> properties;
  std::vector<json::object> marks;
  std::vector<json::object> files;
  std::vector<json::object> samples;
  std::optional<ExitStatus> exit;
};

class SupervisorFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/slipway-sup-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    std::filesystem::create_directory(folder_ / "work");
    static int count = 0;
    spec_.key = {.run = RunId("test-00000000"), .attempt = 1, .rank = 0};
    spec_.mark = fmt::format("test-{}-{}", ::getpid(), ++count);
    spec_.work = folder_ / "work";
    spec_.socket = folder_ / "run.sock";
    spec_.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                         {std::string(launch::kMarkVariable), spec_.mark},
                         {"SLIPWAY_SOCKET", spec_.socket}};
  }

  // I4: no process, cgroup or socket is left behind, whatever the test did.
  void TearDown() override {
    if (supervisor_ > 0) {
      ::kill(supervisor_, SIGKILL);
      ::waitpid(supervisor_, nullptr, 0);
      EXPECT_TRUE(end_orphans(folder_, "the test ended"));
    }
    for_each_marked(spec_.mark, [](pid_t pid, int) { ADD_FAILURE() << "process " << pid << " is left"; });
    for (const auto& folder : cgroups()) ADD_FAILURE() << folder << " is left";
    EXPECT_FALSE(std::filesystem::exists(spec_.socket));
    std::filesystem::remove_all(folder_);
  }

  std::vector<std::filesystem::path> cgroups() const {
    const CgroupPlaces places = find_cgroup_places();
    std::vector<std::filesystem::path> found;
    for (const auto& place :
         {places.unified, places.freezer, places.memory, places.cpu, places.cpuacct, places.pids})
      if (place && std::filesystem::exists(*place / ("slipway-" + spec_.mark)))
        found.push_back(*place / ("slipway-" + spec_.mark));
    return found;
  }

  void program(std::vector<std::string> argv) { spec_.processes = {{.rank = 0, .argv = std::move(argv)}}; }
  void shell(const std::string& script) { program({"/bin/sh", "-c", script}); }
  void python(const std::string& script) { program({"python3", "-c", script}); }

  void start() {
    AttemptOrder order;
    order.key = spec_.key;
    order.workspace = WorkspaceName("default");
    order.job.command = {"unused"};
    ASSERT_TRUE(launch::write_spec(folder_, spec_, order));
    start_again();
  }
  void start_again() {
    supervisor_ = ::fork();
    if (supervisor_ == 0) {
      const Status status = supervise(folder_);
      ::_exit(status ? 0 : 1);
    }
  }
  // The supervisor's own exit code.
  int wait() {
    int status = 0;
    EXPECT_EQ(::wait4(supervisor_, &status, 0, &usage_), supervisor_);
    supervisor_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  Account run() {
    start();
    EXPECT_EQ(wait(), 0);
    return account();
  }
  void kill_supervisor() {
    ::kill(supervisor_, SIGKILL);
    ::waitpid(supervisor_, nullptr, 0);
    supervisor_ = -1;
  }
  void cancel(const std::string& json) { ASSERT_TRUE(replace_file(folder_ / "cancel.json", json)); }

  // Waits until the account shows it, for at most 20 seconds.
  void wait_until(const std::function<bool(const Account&)>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds(account())) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it did not come about in time";
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void wait_for_output(const std::string& text) {
    wait_until([&](const Account& seen) { return seen.standard_out.find(text) != std::string::npos; });
  }

  Account account() const {
    Account account;
    journal::Reader reader(folder_ / "journal");
    uint64_t sequence = 0;
    while (true) {
      const auto chunk = reader.read(8 << 20);
      EXPECT_TRUE(chunk) << chunk.error().message;
      if (!chunk || chunk->bytes.empty()) return account;
      for (std::string_view rest = chunk->bytes; !rest.empty();) {
        const auto parsed = journal::parse_record(rest);
        EXPECT_EQ((*parsed)->record.sequence, ++sequence) << "no gap, no duplicate";
        EXPECT_FALSE(account.exit) << "the exit record is the last";
        take((*parsed)->record, account);
        rest.remove_prefix((*parsed)->size);
      }
    }
  }

  static void take(const journal::Record& record, Account& account) {
    using journal::Kind;
    if (record.kind == Kind::kLog) {
      const auto chunk = journal::parse_log(record.payload);
      std::string& log = account.logs[chunk->name];
      EXPECT_EQ(chunk->offset, log.size()) << "no hole in " << chunk->name;
      log += chunk->bytes;
      if (chunk->channel == journal::Channel::kStdout) account.standard_out += chunk->bytes;
      if (chunk->channel == journal::Channel::kStderr) account.standard_error += chunk->bytes;
      return;
    }
    if (record.kind == Kind::kMetrics) {
      for (auto& point : *journal::parse_metrics(record.payload)) account.points.push_back(point);
      return;
    }
    if (record.kind == Kind::kValues) {
      for (auto& value : *journal::parse_values(record.payload)) account.values.push_back(value);
      return;
    }
    const auto object = parse_json_object(record.payload, "a record");
    ASSERT_TRUE(object) << record.payload;
    if (record.kind == Kind::kPhase) account.phases.emplace_back(object->at("phase").as_string());
    if (record.kind == Kind::kMark) account.marks.push_back(*object);
    if (record.kind == Kind::kFile) account.files.push_back(*object);
    if (record.kind == Kind::kSample) account.samples.push_back(*object);
    if (record.kind == Kind::kTags)
      for (const auto& tag : *object)
        account.tags[std::string(tag.key())] = std::string(tag.value().as_string());
    if (record.kind == Kind::kProperties)
      for (const auto& property : *object)
        account.properties[std::string(property.key())] = std::string(property.value().as_string());
    if (record.kind == Kind::kExit) account.exit = *exit_status_from_json(*object);
  }

  std::filesystem::path folder_;
  launch::SupervisorSpec spec_;
  pid_t supervisor_ = -1;
  rusage usage_{};  // of the supervisor that was waited for
};

}  // namespace slipway::node
