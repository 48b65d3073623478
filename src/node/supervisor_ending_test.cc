#include "node/supervisor_ending.h"

#include <gtest/gtest.h>

namespace slipway::node {
namespace {

using namespace std::chrono_literals;
using Action = Ending::Action;
using Cause = Ending::Cause;

constexpr Monotonic kStart{1000s};

TEST(Ending, DoesNothingUnasked) {
  Ending ending;
  EXPECT_EQ(ending.due(kStart), Action::kNone);
  EXPECT_FALSE(ending.next());
}

TEST(Ending, TerminatesOnceThenKillsAfterTheGraceAgainAndAgain) {
  Ending ending;
  ending.ask(Cause::kCancel, "why", 10s, false, kStart);
  EXPECT_EQ(ending.due(kStart), Action::kTerminate);
  EXPECT_EQ(ending.due(kStart + 9s), Action::kNone);
  EXPECT_EQ(ending.next(), kStart + 10s);
  EXPECT_EQ(ending.due(kStart + 10s), Action::kKill);
  EXPECT_EQ(ending.due(kStart + 10s + 1ms), Action::kNone);
  EXPECT_EQ(ending.due(kStart + 11s), Action::kKill);
  EXPECT_EQ(ending.killing_since(), kStart + 10s);
  ExitStatus status;
  ending.describe(status);
  EXPECT_TRUE(status.canceled && status.killed_after_grace);
}

TEST(Ending, KeepsTheGraceForOthersWhenTheMainProcessObeys) {
  Ending ending;
  ending.ask(Cause::kTimeLimit, "why", 10s, false, kStart);
  (void)ending.due(kStart);
  ending.main_process_ended(kStart + 1s);
  EXPECT_EQ(ending.next(), kStart + 10s);
  ExitStatus status;
  ending.describe(status);
  EXPECT_TRUE(status.timed_out && !status.killed_after_grace && !status.canceled);
}

TEST(Ending, GivesDaemonsAMomentAfterANormalEnd) {
  Ending ending;
  ending.main_process_ended(kStart);
  EXPECT_EQ(ending.due(kStart), Action::kNone);
  EXPECT_EQ(ending.due(kStart + Ending::kLinger), Action::kKill);
  ExitStatus status;
  ending.describe(status);
  EXPECT_FALSE(status.killed_after_grace || status.canceled);
}

TEST(Ending, IgnoresACancelThatComesAfterTheEnd) {
  Ending ending;
  ending.main_process_ended(kStart);
  ending.ask(Cause::kCancel, "too late", 10s, false, kStart + 1ms);
  EXPECT_FALSE(ending.asked());
  EXPECT_EQ(ending.due(kStart + Ending::kLinger), Action::kKill);
  ExitStatus status;
  ending.describe(status);
  EXPECT_FALSE(status.canceled);
}

TEST(Ending, KillsAtOnceWhenOrdered) {
  Ending ending;
  ending.ask(Cause::kCancel, "first", 600s, false, kStart);
  EXPECT_EQ(ending.due(kStart), Action::kTerminate);
  ending.ask(Cause::kCancel, "second", 600s, true, kStart + 1s);
  EXPECT_EQ(ending.due(kStart + 1s), Action::kKill);
  ExitStatus status;
  ending.describe(status);
  EXPECT_EQ(status.reason, "first");
  EXPECT_FALSE(status.killed_after_grace);
}

}  // namespace
}  // namespace slipway::node
