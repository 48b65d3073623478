// Attempts of several processes, with real ones.
#include "node/supervisor_fixture.h"

namespace slipway::node {
namespace {

class SupervisorRanks : public SupervisorFixture {
 protected:
  void ranks(std::vector<std::string> scripts) {
    spec_.processes.clear();
    for (std::string& script : scripts) {
      const int rank = static_cast<int>(spec_.processes.size());
      spec_.processes.push_back({.rank = rank,
                                 .argv = {"/bin/sh", "-c", std::move(script)},
                                 .environment = {{"RANK", std::to_string(rank)}},
                                 .log = "user_logs/std_log_process_" + std::to_string(rank) + ".txt"});
    }
    spec_.process_count = static_cast<int>(spec_.processes.size());
    spec_.grace = std::chrono::seconds(10);
  }
};

TEST_F(SupervisorRanks, EachHasItsOwnVariablesAndItsOwnLog) {
  ranks({"echo I am $RANK", "echo I am $RANK >&2", "echo I am $RANK"});
  const Account account = run();
  ASSERT_TRUE(account.exit);
  EXPECT_TRUE(account.exit->good()) << account.exit->reason;
  EXPECT_EQ(account.logs.at("user_logs/std_log_process_0.txt"), "I am 0\n");
  EXPECT_EQ(account.logs.at("user_logs/std_log_process_1.txt"), "I am 1\n");
  EXPECT_EQ(account.logs.at("user_logs/std_log_process_2.txt"), "I am 2\n");
}

TEST_F(SupervisorRanks, TheFirstThatFailsEndsTheOthersAndIsTheReason) {
  ranks({"echo waiting; exec sleep 600", "sleep 0.2; echo about to fail; echo no more data >&2; exit 7",
         "exec sleep 600"});
  const Account account = run();
  ASSERT_TRUE(account.exit);
  EXPECT_EQ(account.exit->code, 7);
  EXPECT_FALSE(account.exit->canceled);
  EXPECT_EQ(account.phases.back(), "rank-failed")
      << "the other nodes are told before the last here has ended";
  EXPECT_EQ(account.exit->reason,
            "rank 1: exited with code 7; it printed last: about to fail | no more data");
}

TEST_F(SupervisorRanks, OneKilledBySomebodyElseIsAFailureToo) {
  ranks({"exec sleep 600", "kill -9 $$"});
  const Account account = run();
  ASSERT_TRUE(account.exit);
  EXPECT_EQ(account.exit->signal, 9);
  EXPECT_TRUE(account.exit->reason.starts_with("rank 1: killed by signal 9")) << account.exit->reason;
}

TEST_F(SupervisorRanks, WhoIgnoresTheEndIsKilledAfterTheGrace) {
  ranks({"trap '' TERM; while :; do sleep 0.1; done", "sleep 0.2; exit 3"});
  spec_.grace = std::chrono::milliseconds(300);
  const Account account = run();
  ASSERT_TRUE(account.exit);
  EXPECT_EQ(account.exit->code, 3);
}

TEST_F(SupervisorRanks, AllMustEndUnlessALeaderDecides) {
  ranks({"exit 0", "sleep 0.3; echo last"});
  const Account account = run();
  ASSERT_TRUE(account.exit);
  EXPECT_TRUE(account.exit->good());
  EXPECT_EQ(account.logs.at("user_logs/std_log_process_1.txt"), "last\n");
}

TEST_F(SupervisorRanks, WithALeaderTheOthersAreEndedWhenItIsDone) {
  ranks({"sleep 0.2; echo done", "exec sleep 600", "exec sleep 600"});
  spec_.end_rule = launch::EndRule::kLeader;
  const Account account = run();
  ASSERT_TRUE(account.exit);
  EXPECT_TRUE(account.exit->good()) << account.exit->reason;
}

TEST_F(SupervisorRanks, ALeadersFollowerThatEndsEarlyAndWellEndsNobody) {
  ranks({"sleep 0.3; echo done", "exit 0"});
  spec_.end_rule = launch::EndRule::kLeader;
  const Account account = run();
  ASSERT_TRUE(account.exit && account.exit->good());
  EXPECT_EQ(account.logs.at("user_logs/std_log_process_0.txt"), "done\n");
}

TEST_F(SupervisorRanks, ACancelEndsAllOfThem) {
  ranks({"exec sleep 600", "exec sleep 600"});
  start();
  wait_until(
      [](const Account& account) { return !account.phases.empty() && account.phases.back() == "running"; });
  cancel(R"({"reason": "enough", "grace_seconds": 5})");
  EXPECT_EQ(wait(), 0);
  const Account ended = account();
  ASSERT_TRUE(ended.exit);
  EXPECT_TRUE(ended.exit->canceled);
  EXPECT_EQ(ended.exit->reason, "enough");
}

TEST_F(SupervisorRanks, OneThatCannotStartEndsThoseThatHave) {
  ranks({"exec sleep 600", "exec sleep 600"});
  spec_.processes[1].argv = {"./missing"};
  const Account account = run();
  ASSERT_TRUE(account.exit);
  EXPECT_EQ(account.exit->code, 127);
  EXPECT_TRUE(account.exit->reason.starts_with("rank 1: cannot start './missing'")) << account.exit->reason;
}

TEST_F(SupervisorRanks, RanksThatOthersStartPrintIntoPipes) {
  ranks({"echo one > $PIPES/3.out; echo two > $PIPES/3.err; echo mpirun itself"});
  spec_.environment["PIPES"] = folder_.string();
  spec_.pipes = {{.rank = 3, .path = (folder_ / "3").string(), .log = "user_logs/std_log_process_3.txt"}};
  spec_.files = {{(folder_ / "mpi" / "hostfile").string(), "localhost slots=1\n"}};
  const Account account = run();
  ASSERT_TRUE(account.exit && account.exit->good());
  EXPECT_EQ(account.logs.at("user_logs/std_log_process_3.txt"), "one\ntwo\n");
  EXPECT_EQ(account.logs.at("user_logs/std_log_process_0.txt"), "mpirun itself\n");
  EXPECT_EQ(read_file(folder_ / "mpi" / "hostfile").value(), "localhost slots=1\n");
}

TEST_F(SupervisorRanks, OfThoseThatOthersStartTheFailedOneIsNamedAndQuoted) {
  ranks({"echo out of steam > $PIPES/1.err; echo '  Process name: [[29813,1],1]'; exit 7"});
  spec_.processes[0].name = "mpirun";
  spec_.process_count = 2;
  spec_.environment["PIPES"] = folder_.string();
  spec_.pipes = {{.rank = 1, .path = (folder_ / "1").string(), .log = "user_logs/std_log_process_1.txt"}};
  const Account account = run();
  ASSERT_TRUE(account.exit);
  EXPECT_EQ(account.exit->reason, "rank 1: exited with code 7; it printed last: out of steam");
}

TEST_F(SupervisorRanks, OfThoseThatOthersStartAParentTellsWhichFailed) {
  ranks(
      {"echo one > $PIPES/1.out; echo out of steam > $PIPES/3.err; echo garbage > $PIPES/ended; "
       "echo '3 1792' > $PIPES/ended; echo '1 256' > $PIPES/ended; exit 7"});
  spec_.processes[0].name = "mpirun";
  spec_.process_count = 4;
  spec_.environment["PIPES"] = folder_.string();
  for (const int rank : {1, 3})
    spec_.pipes.push_back({.rank = rank,
                           .path = (folder_ / std::to_string(rank)).string(),
                           .log = "user_logs/std_log_process_" + std::to_string(rank) + ".txt"});
  const Account account = run();
  ASSERT_TRUE(account.exit);
  EXPECT_EQ(account.exit->code, 7);
  EXPECT_EQ(account.exit->reason, "rank 3: exited with code 7; it printed last: out of steam");
  EXPECT_EQ(std::ranges::count(account.phases, "rank-exited"), 1) << "the first alone";
}

TEST_F(SupervisorRanks, AFailedRankThatMpirunPutsUpWithFailsNothing) {
  ranks({"echo '3 1792' > $PIPES/ended; exit 0"});
  spec_.process_count = 4;
  spec_.environment["PIPES"] = folder_.string();
  spec_.pipes = {{.rank = 3, .path = (folder_ / "3").string(), .log = "user_logs/std_log_process_3.txt"}};
  const Account account = run();
  ASSERT_TRUE(account.exit);
  EXPECT_TRUE(account.exit->good()) << account.exit->reason;
}

}  // namespace
}  // namespace slipway::node
