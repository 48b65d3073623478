// The journal before there is a supervisor: what an agent says while it prepares, and what the next one
// finds.
#include "node/agent_preparation.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/agent_attach.h"
#include "node/agent_fixture.h"
#include "node/agent_spare.h"

namespace slipway::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Preparation : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    order_ = shell_job("prepared", "exit 0");
    server_.order(order_);
    key_ = order_.key;
    folder_ = folder(key_);
    ASSERT_TRUE(make_folders(paths_.attempts()));
    ASSERT_TRUE(AttemptFolders(home_ / "spare").make(folder_));
    link_ = std::make_unique<ServerLink>(options_.node, server_.url(), Secret("node-token"), "");
    shipper_.emplace(*link_, key_, folder_, [](const std::vector<std::string>&) {});
  }

  std::string shipped_log() {
    std::string log;
    const std::string journal = server_.told(key_).journal;
    for (std::string_view rest = journal; !rest.empty();) {
      const auto parsed = journal::parse_record(rest);
      rest.remove_prefix((*parsed)->size);
      if ((*parsed)->record.kind != journal::Kind::kLog) continue;
      const auto chunk = journal::parse_log((*parsed)->record.payload);
      EXPECT_EQ(chunk->offset, log.size()) << "no hole and nothing twice";
      EXPECT_EQ(chunk->name, kEnvironmentLog);
      log += chunk->bytes;
    }
    return log;
  }

  AttemptOrder order_;
  AttemptKey key_;
  fs::path folder_;
  std::unique_ptr<ServerLink> link_;
  std::optional<JournalShipper> shipper_;
  AttemptSignals signals_;
};

TEST_F(Preparation, ReachesTheServerWhileItGoesOn) {
  PreparationLog log(folder_, *shipper_, signals_);
  log.line(kEnvironmentLog, "resolving");
  log.note("environment", "building tf");
  EXPECT_TRUE(server_.wait_until(key_, [](const Told& told) { return !told.phases().empty(); }));
  EXPECT_EQ(shipped_log(), "resolving\n");
  EXPECT_THAT(server_.told(key_).phases(), ElementsAre("preparing"));
  EXPECT_THAT(server_.told(key_).journal, HasSubstr("building tf"));
}

TEST_F(Preparation, LeavesTheLockToTheSupervisorWhileAnotherProgramIsBeingStarted) {
  PreparationLog log(folder_, *shipper_, signals_);
  log.line(kEnvironmentLog, "resolving");
  const pid_t started = ::fork();  // has a copy of every file of ours, as it has until it executes
  if (started == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_TRUE(FileLock::is_held(folder_ / "lock"));
  log.close();
  EXPECT_FALSE(FileLock::is_held(folder_ / "lock"));
  ::kill(started, SIGKILL);
  ::waitpid(started, nullptr, 0);
}

TEST_F(Preparation, CostsNothingWhenThereIsNothingToSay) {
  {
    PreparationLog log(folder_, *shipper_, signals_);
  }
  EXPECT_FALSE(fs::exists(folder_ / "lock"));
  EXPECT_TRUE(fs::is_empty(folder_ / "journal"));
}

TEST_F(Preparation, GoesOnWhereAKilledAgentStopped) {
  {
    PreparationLog log(folder_, *shipper_, signals_);
    log.line(kEnvironmentLog, "first");
    log.close();
    log.deliver();
  }
  std::ofstream(folder_ / "work" / "half-placed") << "x";

  const auto found = find_attempts(paths_);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1);
  EXPECT_EQ(found->front().standing, Standing::kOrdered);
  EXPECT_FALSE(fs::exists(folder_ / "work")) << "what was placed is placed anew";

  JournalShipper next_shipper(*link_, key_, folder_, [](const std::vector<std::string>&) {});
  PreparationLog next(folder_, next_shipper, signals_);
  next.line(kEnvironmentLog, "second");
  next.close();
  next.deliver();
  EXPECT_EQ(shipped_log(), "first\nsecond\n");
}

TEST_F(Preparation, LeavesAnAttemptThatHasBegunAlone) {
  auto lock = FileLock::try_take(folder_ / "lock");
  ASSERT_TRUE(lock && *lock);
  PreparationLog log(folder_, *shipper_, signals_);
  log.line(kEnvironmentLog, "too late");
  log.close();
  EXPECT_TRUE(fs::is_empty(folder_ / "journal"));
}

TEST_F(Preparation, TheSupervisorGoesOnInTheSameJournal) {
  {
    PreparationLog log(folder_, *shipper_, signals_);
    log.line(kEnvironmentLog, "built");
  }
  EXPECT_FALSE(FileLock::is_held(folder_ / "lock"));
  auto before = preparation_in_journal(folder_ / "journal");
  ASSERT_TRUE(before);
  EXPECT_FALSE(before->begun);
  EXPECT_EQ(before->offsets[std::string(kEnvironmentLog)], 6);

  auto writer = journal::Writer::open(folder_ / "journal");
  ASSERT_TRUE(writer);
  writer->add(journal::Kind::kPhase, Timestamp(), R"({"phase":"starting"})");
  ASSERT_TRUE(writer->flush());
  const auto after = preparation_in_journal(folder_ / "journal");
  ASSERT_TRUE(after);
  EXPECT_TRUE(after->begun);
}

TEST_F(Preparation, AServerThatIsAwayDelaysItWithoutLosingAnything) {
  server_.with([this] { server_.away = true; });
  PreparationLog log(folder_, *shipper_, signals_);
  for (int i = 0; i < 100; ++i) log.line(kEnvironmentLog, std::to_string(i));
  server_.with([this] { server_.away = false; });
  log.close();
  log.deliver();
  EXPECT_THAT(shipped_log(), HasSubstr("98\n99\n"));
}

TEST_F(Preparation, AStaleAttemptIsFencedWhileItIsPrepared) {
  server_.with([this] { server_.stale.insert(key_); });
  PreparationLog log(folder_, *shipper_, signals_);
  log.line(kEnvironmentLog, "unwanted");
  EXPECT_TRUE(wait_for([this] { return signals_.fenced(); }));
}

}  // namespace
}  // namespace slipway::node
