// The agent's parts by themselves: folders, walk, shipping, waiting.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "journal/writer.h"
#include "node/agent_fixture.h"
#include "node/agent_folder.h"
#include "node/agent_output_walk.h"
#include "node/agent_shipping.h"
#include "node/agent_spare.h"

namespace slipway::node {
namespace {

using ::testing::ElementsAre;
namespace fs = std::filesystem;

class AgentParts : public AgentTest {
 protected:
  fs::path write(const fs::path& path, const std::string& content) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
};

TEST(AgentAttach, ReadsTheNameOfAnAttemptBack) {
  const auto key = attempt_key_from_name("my.exp-x7k2mq9w.2.10");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->run.str(), "my.exp-x7k2mq9w");
  EXPECT_EQ(key->attempt, 2);
  EXPECT_EQ(key->rank, 10);
  for (const char* name : {"", "a", "a.1", "a.b.c", "a.0.0", "a.1.-1", ".1.0", "a/b.1.0", "a.1.0x"})
    EXPECT_FALSE(attempt_key_from_name(name)) << name;
}

TEST(AgentWaiting, TheFirstRetryComesAtOnceAndLaterOnesAreCapped) {
  Backoff backoff(std::chrono::seconds(2));
  EXPECT_EQ(backoff.next(), Duration(0));
  for (int i = 0; i < 20; ++i) {
    const Duration pause = backoff.next();
    EXPECT_GE(pause, std::chrono::milliseconds(50));
    EXPECT_LE(pause, std::chrono::seconds(2));
  }
  backoff.reset();
  EXPECT_EQ(backoff.next(), Duration(0));
}

TEST_F(AgentParts, RemovesAFolderHoweverDeepAndDenied) {
  const fs::path top = home_ / "doomed";
  const fs::path outside = write(home_ / "kept/file", "x");
  fs::create_directories(top);
  fs::create_directory_symlink(outside.parent_path(), top / "link");
  write(top / "denied/inner", "x");
  ::chmod((top / "denied").c_str(), 0);
  UniqueFd at(::open(top.c_str(), O_RDONLY | O_DIRECTORY));
  for (int depth = 0; depth < 1000; ++depth) {
    ASSERT_EQ(::mkdirat(at.get(), "deeper-than-any-path-may-be", 0700), 0);
    at = UniqueFd(::openat(at.get(), "deeper-than-any-path-may-be", O_RDONLY | O_DIRECTORY));
  }
  at.reset();
  const Status removed = remove_folder(top);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(fs::exists(top));
  EXPECT_TRUE(fs::exists(outside)) << "a link was followed";
  EXPECT_TRUE(remove_folder(top)) << "repeating is fine";
}

TEST_F(AgentParts, AFolderInWhichAJobLeftNothingIsUsedAgain) {
  AttemptFolders folders(home_ / "spare");
  const fs::path first = home_ / "first";
  ASSERT_TRUE(folders.make(first));
  for (const char* name : {"spec.json", "lock", "cancel.json", "journal/00000000000000000000"})
    write(first / name, "x");
  struct stat before{};
  ASSERT_EQ(::stat(first.c_str(), &before), 0);
  ASSERT_TRUE(folders.remove(first));
  EXPECT_FALSE(fs::exists(first));

  const fs::path second = home_ / "second";
  ASSERT_TRUE(folders.make(second));
  struct stat after{};
  ASSERT_EQ(::stat(second.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_FALSE(fs::exists(second / "spec.json"));
  EXPECT_FALSE(fs::exists(second / "cancel.json"));
  EXPECT_TRUE(fs::is_empty(second / "journal"));
  EXPECT_TRUE(fs::is_empty(second / "work/outputs"));
}

TEST_F(AgentParts, AFolderWithAnythingOfAJobIsRemoved) {
  AttemptFolders folders(home_ / "spare");
  for (const char* trace : {"work/a", "work/outputs/a", "work/logs/a", "odd", "journal/deep/a"}) {
    ASSERT_TRUE(folders.make(home_ / "first"));
    write(home_ / "first/lock", "");
    write(home_ / "first" / trace, "x");
    ASSERT_TRUE(folders.remove(home_ / "first"));
    EXPECT_TRUE(fs::is_empty(home_ / "spare")) << trace;
  }
  ASSERT_TRUE(folders.make(home_ / "first"));
  fs::remove(home_ / "first/work/outputs");
  fs::create_directory_symlink(home_, home_ / "first/work/outputs");
  ASSERT_TRUE(folders.remove(home_ / "first"));
  EXPECT_TRUE(fs::is_empty(home_ / "spare"));
  EXPECT_TRUE(folders.remove(home_ / "never")) << "nothing to remove";
}

TEST_F(AgentParts, TheWalkListsFilesAndSaysWhatItPassedOver) {
  const fs::path work = home_ / "work";
  write(work / "outputs/b/c", "1");
  write(work / "outputs/a", "22");
  write(work / "secret", "x");
  fs::create_symlink("../secret", work / "outputs/link");
  fs::create_directory_symlink("..", work / "outputs/loop");
  ::mkfifo((work / "outputs/pipe").c_str(), 0600);
  write(work / "outputs/back\\slash", "x");
  const UniqueFd fd(::open(work.c_str(), O_RDONLY | O_DIRECTORY));
  const FoundOutputs found = walk_outputs(fd.get(), "outputs");
  std::vector<std::string> paths;
  for (const FoundFile& file : found.files) paths.push_back(file.path);
  EXPECT_THAT(paths, ElementsAre("outputs/a", "outputs/b/c"));
  EXPECT_EQ(found.skipped.size(), 4U);
  EXPECT_TRUE(walk_outputs(fd.get(), "nothing").files.empty());
}

TEST_F(AgentParts, AFileToKeepIsTakenFromTheWorkingFolderOnly) {
  const fs::path work = home_ / "work";
  write(work / "plot.png", "1");
  write(home_ / "outside", "x");
  fs::create_symlink("/etc/passwd", work / "link");
  ::mkfifo((work / "pipe").c_str(), 0600);
  const UniqueFd fd(::open(work.c_str(), O_RDONLY | O_DIRECTORY));
  EXPECT_TRUE(open_output(fd.get(), "plot.png"));
  for (const char* path : {"../outside", "/etc/passwd", "link", "pipe", "", ".", "a/../plot.png", "missing"})
    EXPECT_FALSE(open_output(fd.get(), path)) << path;
}

class Shipping : public AgentParts {
 protected:
  void SetUp() override {
    AgentParts::SetUp();
    link_.emplace(NodeId("local-1"), server_.url(), Secret("node-token"), "");
    fs::create_directories(folder_);
    writer_.emplace(journal::Writer::open(folder_ / "journal", 4096).value());
    shipper_.emplace(*link_, key_, folder_, [this](const std::vector<std::string>& files) {
      asked_.insert(asked_.end(), files.begin(), files.end());
    });
  }
  void append(journal::Kind kind, const std::string& payload) {
    writer_->add(kind, Timestamp{1}, payload);
    ASSERT_TRUE(writer_->flush());
  }
  void append_logs(int count) {
    for (int i = 0; i < count; ++i)
      append(journal::Kind::kLog,
             journal::encode_log({"std_log.txt", journal::Channel::kStdout, 0, "line\n"}));
  }
  // Rounds until the journal has ended; errors that the server's absence causes are repeated.
  void ship_all() {
    for (int rounds = 0; rounds < 1000 && !shipper_->ended(); ++rounds) (void)shipper_->ship();
    EXPECT_TRUE(shipper_->ended());
  }
  std::string exit_text() { return json::serialize(to_json(ExitStatus{})); }

  AttemptKey key_{.run = RunId("digits-1"), .attempt = 1, .rank = 0};
  fs::path folder_ = "";
  std::optional<ServerLink> link_;
  std::optional<journal::Writer> writer_;
  std::optional<JournalShipper> shipper_;
  std::vector<std::string> asked_;

  Shipping() { folder_ = fs::temp_directory_path() / ("slipway-ship-" + std::to_string(::getpid())); }
  ~Shipping() override { fs::remove_all(folder_); }
};

TEST_F(Shipping, StoresEveryRecordOnceWhenAnswersAreLost) {
  append_logs(500);
  append(journal::Kind::kExit, exit_text());
  server_.with([&] { server_.lose_answers = 7; });
  ship_all();
  const Told told = server_.told(key_);
  EXPECT_TRUE(told.exit()) << "and its sequence has no gap";
  EXPECT_EQ(told.journal.size(), writer_->end());
}

TEST_F(Shipping, GoesOnFromWhatTheServerHasKept) {
  append_logs(20);
  append(journal::Kind::kExit, exit_text());
  server_.with([&] { server_.keeps_half = true; });
  ship_all();
  EXPECT_TRUE(server_.told(key_).exit());
  EXPECT_EQ(server_.told(key_).journal.size(), writer_->end());
}

TEST_F(Shipping, ANewShipperAsksHowFarTheLastOneGot) {
  append_logs(300);
  while (shipper_->ship().value() > 0) {
  }
  const int posts = server_.told(key_).journal_posts;
  append(journal::Kind::kExit, exit_text());
  shipper_.emplace(*link_, key_, folder_, [](const auto&) {});
  ASSERT_TRUE(shipper_->resume());
  EXPECT_GT(shipper_->acknowledged(), 0U);
  EXPECT_FALSE(shipper_->ended());
  ship_all();
  EXPECT_EQ(server_.told(key_).journal_posts, posts + 1);
  EXPECT_TRUE(server_.told(key_).exit());

  shipper_.emplace(*link_, key_, folder_, [](const auto&) {});
  ASSERT_TRUE(shipper_->resume());
  EXPECT_TRUE(shipper_->ended()) << "all of it had been acknowledged";
}

TEST_F(Shipping, TellsOfFilesTheJobWantsBeforeTheServerAcknowledges) {
  append(journal::Kind::kFile, R"({"path":"outputs/plot.png"})");
  server_.with([&] { server_.away = true; });
  EXPECT_FALSE(shipper_->ship());
  EXPECT_THAT(asked_, ElementsAre("outputs/plot.png"));
}

TEST_F(Shipping, ADamagedJournalIsAnErrorThatWaitingDoesNotMend) {
  append_logs(3);
  const auto segment = *fs::directory_iterator(folder_ / "journal");
  std::fstream(segment.path(), std::ios::in | std::ios::out | std::ios::binary).seekp(40) << "xxxx";
  const auto sent = shipper_->ship();
  ASSERT_FALSE(sent);
  EXPECT_EQ(verdict(sent.error()), Verdict::kRefused);
}

TEST_F(Shipping, AServerThatLostWhatThisNodeHasRemovedIsNotGivenAGap) {
  append_logs(300);
  append(journal::Kind::kExit, exit_text());
  fs::path first;
  for (const auto& entry : fs::directory_iterator(folder_ / "journal"))
    if (first.empty() || entry.path() < first) first = entry.path();
  fs::remove(first);
  EXPECT_FALSE(shipper_->resume());
  EXPECT_EQ(server_.told(key_).journal, "");
}

}  // namespace
}  // namespace slipway::node
