#include "base/subprocess.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ProgramCall shell(const std::string& script) {
  return {.program = "/bin/sh",
          .arguments = {"-c", script},
          .environment = {{"PATH", "/usr/bin:/bin"}},
          .folder = {},
          .longest = std::chrono::seconds(30),
          .wanted = {},
          .on_line = {},
          .keep_output = false};
}

TEST(Subprocess, GivesEachLineAndTheExitCode) {
  std::vector<std::string> lines;
  ProgramCall call = shell("echo one; printf 'half'; exit 3");
  call.on_line = [&](std::string_view line) { lines.emplace_back(line); };
  const auto end = run_program(call);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 3);
  EXPECT_THAT(lines, ElementsAre("one", "half"));
  EXPECT_EQ(end->last_lines, "one\nhalf\n");
}

TEST(Subprocess, KeepsStandardOutputApartFromTheLines) {
  ProgramCall call = shell("echo answer; echo talk >&2");
  call.keep_output = true;
  const auto end = run_program(call);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output, "answer\n");
  EXPECT_EQ(end->last_lines, "talk\n");
}

TEST(Subprocess, EndsAllItHasStartedWhenItIsNotWantedAnyMore) {
  std::atomic<bool> started = false;
  std::string child;
  ProgramCall call = shell("trap '' TERM; sleep 60 & echo $!; wait; sleep 60");
  call.on_line = [&](std::string_view line) {
    child = line;
    started = true;
  };
  call.wanted = [&] { return !started; };
  const auto end = run_program(call);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->unwanted);
  EXPECT_FALSE(end->good());
  for (int i = 0; i < 200 && ::kill(std::stoi(child), 0) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_NE(::kill(std::stoi(child), 0), 0);
}

TEST(Subprocess, StopsAtItsDeadline) {
  ProgramCall call = shell("exec sleep 60");
  call.longest = std::chrono::milliseconds(50);
  const auto end = run_program(call);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->timed_out);
}

TEST(Subprocess, AChildSeesNoDescriptorsOrVariablesOfOurs) {
  const UniqueFd ours(::dup(0));
  ProgramCall call = shell("ls /proc/self/fd | wc -l; env | grep -c SECRET_OF_THE_TEST");
  ::setenv("SECRET_OF_THE_TEST", "x", 1);
  call.keep_output = true;
  const auto end = run_program(call);
  ::unsetenv("SECRET_OF_THE_TEST");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output, "4\n0\n") << "three streams and the folder that ls reads";
}

TEST(Subprocess, SaysWhatCouldNotBeStarted) {
  ProgramCall call = shell("");
  call.program = "/no/such/program";
  const auto end = run_program(call);
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().message, HasSubstr("/no/such/program"));
}

TEST(Subprocess, FindsProgramsInOrderAndPassesOverFolders) {
  EXPECT_EQ(find_on_path("sh", "/nowhere:/:/bin:/usr/bin"), "/bin/sh");
  EXPECT_EQ(find_on_path("sh", "relative:."), "");
  EXPECT_EQ(find_on_path("bin", "/"), "") << "a folder is no program";
}

}  // namespace
}  // namespace slipway
