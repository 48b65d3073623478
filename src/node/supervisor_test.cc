// The life of an attempt: how it starts and how it ends.
#include "node/supervisor.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "node/supervisor_fixture.h"

namespace slipway::node {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Supervisor : public SupervisorFixture {};

TEST_F(Supervisor, RunsAProgramAndRecordsThatItEndedWell) {
  program({"true"});
  const Account seen = run();
  EXPECT_THAT(seen.phases, ElementsAre("starting", "running"));
  ASSERT_TRUE(seen.exit);
  EXPECT_TRUE(seen.exit->good());
  EXPECT_GT(seen.exit->started.micros, 0);
  EXPECT_GE(seen.exit->ended, seen.exit->started);
  EXPECT_TRUE(seen.marks.empty());
}

TEST_F(Supervisor, KeepsTheExitCode) {
  shell("exit 7");
  const Account seen = run();
  EXPECT_EQ(seen.exit->code, 7);
  EXPECT_EQ(seen.exit->signal, 0);
  EXPECT_EQ(seen.exit->reason, "exited with code 7");
}

TEST_F(Supervisor, KeepsTheSignal) {
  shell("kill -SEGV $$");
  const Account seen = run();
  EXPECT_EQ(seen.exit->code, 139);
  EXPECT_EQ(seen.exit->signal, SIGSEGV);
  EXPECT_THAT(seen.exit->reason, HasSubstr("signal 11"));
}

TEST_F(Supervisor, SaysWhichProgramIsMissing) {
  program({"pyhton", "train.py"});
  const Account seen = run();
  EXPECT_EQ(seen.exit->code, 127);
  EXPECT_EQ(seen.exit->reason, "cannot start 'pyhton': no such program on the PATH of this node");
  EXPECT_THAT(seen.phases, ElementsAre("starting"));
}

TEST_F(Supervisor, SaysThatAFileIsMissingOrNotExecutable) {
  program({"./train.sh"});
  EXPECT_EQ(run().exit->reason,
            "cannot start './train.sh': there is no such file in the run's working folder");
  std::filesystem::remove_all(folder_ / "journal");
  std::ofstream(folder_ / "work/train.sh") << "echo hello\n";
  EXPECT_THAT(run().exit->reason, HasSubstr("the file is not executable"));
  std::filesystem::remove_all(folder_ / "journal");
  ::chmod((folder_ / "work/train.sh").c_str(), 0755);
  EXPECT_THAT(run().exit->reason, HasSubstr("a script that begins with '#!'"));
  std::filesystem::remove_all(folder_ / "journal");
  std::ofstream(folder_ / "work/train.sh") << "#!/bin/sh\necho hello\n";
  EXPECT_EQ(run().standard_out, "hello\n");
}

TEST_F(Supervisor, GivesTheJobACleanPlace) {
  ::setenv("SUPERVISOR_SECRET", "do not pass on", 1);
  const UniqueFd open_here(::dup(2));
  spec_.environment["A"] = "b = c";
  shell(
      "pwd; env | sort | cut -d= -f1 | tr '\\n' ' '; echo \"$A\"; umask; ls /proc/self/fd | wc -l; "
      "grep NoNewPrivs /proc/self/status; readlink /proc/self/fd/0; ls; "
      "[ \"$(ps -o sid= -p $$ | tr -d ' ')\" = $$ ] && echo session");
  const Account seen = run();
  ::unsetenv("SUPERVISOR_SECRET");
  // ls has its three and the folder it reads.
  EXPECT_EQ(seen.standard_out, spec_.work +
                                   "\nA PATH PWD SLIPWAY_MARK SLIPWAY_SOCKET b = c\n0022\n4\nNoNewPrivs:\t1\n"
                                   "/dev/null\nlogs\noutputs\nsession\n");
}

TEST_F(Supervisor, DoesNotStartAJobThatWasCanceledBefore) {
  shell("touch started");
  cancel(R"({"reason":"canceled by ann"})");
  const Account seen = run();
  EXPECT_TRUE(seen.exit->canceled);
  EXPECT_EQ(seen.exit->reason, "canceled by ann (before it started)");
  EXPECT_TRUE(seen.phases.empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "work/started"));
}

TEST_F(Supervisor, CancelsWithSigterm) {
  shell("trap 'echo saved; exit 3' TERM; echo ready; while :; do sleep 0.05; done");
  start();
  wait_for_output("ready");
  cancel(R"({"reason":"canceled by ann","grace_seconds":20})");
  EXPECT_EQ(wait(), 0);
  const Account seen = account();
  EXPECT_TRUE(seen.exit->canceled);
  EXPECT_FALSE(seen.exit->killed_after_grace);
  EXPECT_EQ(seen.exit->code, 3);
  EXPECT_EQ(seen.exit->reason, "canceled by ann");
  EXPECT_THAT(seen.standard_out, HasSubstr("saved"));
}

TEST_F(Supervisor, KillsAfterTheGraceWhenSigtermIsIgnored) {
  shell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
  start();
  wait_for_output("ready");
  cancel(R"({"reason":"canceled","grace_seconds":0.3})");
  EXPECT_EQ(wait(), 0);
  const Account seen = account();
  EXPECT_TRUE(seen.exit->canceled);
  EXPECT_TRUE(seen.exit->killed_after_grace);
  EXPECT_EQ(seen.exit->signal, SIGKILL);
  EXPECT_THAT(seen.exit->reason, HasSubstr("after SIGTERM"));
}

TEST_F(Supervisor, KillsAtOnceWhenCanceledASecondTimeWithKill) {
  shell("trap 'echo not yet' TERM; echo ready; while :; do sleep 0.05; done");
  start();
  wait_for_output("ready");
  cancel(R"({"reason":"first","grace_seconds":600})");
  wait_for_output("not yet");
  cancel(R"({"reason":"second","grace_seconds":600,"kill":true})");
  EXPECT_EQ(wait(), 0);
  const Account seen = account();
  EXPECT_EQ(seen.exit->signal, SIGKILL);
  EXPECT_FALSE(seen.exit->killed_after_grace);
  EXPECT_EQ(seen.exit->reason, "first");
}

TEST_F(Supervisor, GivesAChildTheRestOfTheGraceWhenItsShellDies) {
  // The shell has no handler and dies at once; the one that saves a checkpoint must be let finish.
  shell("sh -c 'trap \"sleep 0.3; echo saved; exit\" TERM; echo ready; while :; do sleep 0.05; done' & wait");
  start();
  wait_for_output("ready");
  cancel(R"({"grace_seconds":20})");
  EXPECT_EQ(wait(), 0);
  EXPECT_THAT(account().standard_out, HasSubstr("saved"));
  EXPECT_FALSE(account().exit->killed_after_grace);
}

TEST_F(Supervisor, EndsAJobAtItsTimeLimit) {
  shell("sleep 600");
  spec_.timeout = 200ms;
  const Account seen = run();
  EXPECT_TRUE(seen.exit->timed_out);
  EXPECT_FALSE(seen.exit->canceled);
  EXPECT_EQ(seen.exit->reason, "stopped: it reached its time limit of 200 ms");
}

TEST_F(Supervisor, OutlivesSignalsOfItsTerminal) {
  shell("echo ready; sleep 0.5; exit 5");
  start();
  wait_for_output("ready");
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::kill(supervisor_, signal);
  EXPECT_EQ(wait(), 0);
  EXPECT_EQ(account().exit->code, 5);
}

TEST_F(Supervisor, KillsDaemonsThatAreLeftBehind) {
  python(
      "import os, sys, time, signal\n"
      "if os.fork() == 0:\n"
      "  os.setsid()\n"
      "  if os.fork() == 0:\n"
      "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
      "    print('daemon', flush=True)\n"
      "    time.sleep(600)\n"
      "  os._exit(0)\n"
      "os.wait()\n"
      "time.sleep(0.2)\n"
      "sys.exit(4)\n");
  const Account seen = run();
  EXPECT_EQ(seen.exit->code, 4) << seen.standard_error;
  EXPECT_EQ(seen.standard_out, "daemon\n");
}

TEST_F(Supervisor, LetsTheEndOfAPipelineWriteItsLastBytes) {
  program({"bash", "-c", "exec > >(sleep 0.1; cat); echo first; echo last"});
  EXPECT_EQ(run().standard_out, "first\nlast\n");
}

TEST_F(Supervisor, ReapsThousandsOfZombies) {
  python(
      "import os\n"
      "for i in range(2000):\n"
      "  if os.fork() == 0: os._exit(0)\n"
      "print('done', flush=True)\n");
  const Account seen = run();
  EXPECT_TRUE(seen.exit->good()) << seen.exit->reason << seen.standard_error;
}

TEST_F(Supervisor, RefusesAFolderThatHasASupervisorAlready) {
  shell("echo ready; sleep 600");
  start();
  wait_for_output("ready");
  EXPECT_EQ(supervise(folder_).error().code, ErrorCode::kConflict);
  EXPECT_EQ(end_orphans(folder_, "x").error().code, ErrorCode::kConflict);
  cancel(R"({"kill":true})");
  EXPECT_EQ(wait(), 0);
  EXPECT_EQ(supervise(folder_).error().code, ErrorCode::kConflict) << "it has ended: nothing may follow";
}

TEST_F(Supervisor, AccountsForAnOrderItCannotRead) {
  ASSERT_TRUE(replace_file(folder_ / "spec.json", "{"));
  start_again();
  EXPECT_EQ(wait(), 0);
  EXPECT_THAT(account().exit->reason, HasSubstr("cannot be read"));
}

TEST_F(Supervisor, LeavesOrphansThatEndOrphansFinds) {
  shell("setsid sh -c 'trap \"\" TERM; echo daemon; sleep 600' & echo ready; sleep 600");
  start();
  wait_for_output("daemon");
  kill_supervisor();
  std::ofstream(folder_ / "journal/00000000000000000000", std::ios::app | std::ios::binary) << "torn";
  ASSERT_TRUE(end_orphans(folder_, "the supervisor of this attempt was killed"));
  const Account seen = account();
  ASSERT_TRUE(seen.exit);
  EXPECT_EQ(seen.exit->reason, "the supervisor of this attempt was killed");
  ASSERT_TRUE(end_orphans(folder_, "again"));
  EXPECT_EQ(account().exit->reason, seen.exit->reason) << "repeating changes nothing";
}

TEST_F(Supervisor, EndOrphansClosesAnAttemptThatNeverStarted) {
  ASSERT_TRUE(end_orphans(folder_, "it was never started"));
  EXPECT_EQ(account().exit->reason, "it was never started");
}

TEST_F(Supervisor, SaysThatTheJobRanOutOfMemory) {
  const auto places = find_cgroup_places();
  ASSERT_TRUE(::getuid() == 0 && (places.memory || places.unified)) << "this needs cgroups: run it as root";
  spec_.limits.memory_bytes = 64 << 20;
  python("x = bytearray(300 << 20)\nprint(len(x))");
  const Account seen = run();
  ASSERT_FALSE(seen.exit->good()) << "this needs the memory controller of cgroups";
  EXPECT_TRUE(seen.exit->out_of_memory) << seen.exit->reason << seen.standard_error;
  EXPECT_EQ(seen.exit->reason, "killed: out of memory (limit 64 MiB)");
  EXPECT_EQ(seen.exit->signal, SIGKILL);
}

}  // namespace
}  // namespace slipway::node
