#include "launch/orted_command.h"

#include <gtest/gtest.h>

namespace slipway::launch {
namespace {

using Words = std::vector<std::string>;

TEST(OrtedCommand, IsTakenApartAsAShellWould) {
  EXPECT_EQ(
      orted_arguments({"orted", "-mca", "ess", "\"env\"", "-mca", "orte_node_regex",
                       "\"vm,slipway-[1:1]@0(2)\"", "-mca", "orte_hnp_uri", "\"87.0;tcp://10.0.0.1:4\""})
          .value(),
      (Words{"-mca", "ess", "env", "-mca", "orte_node_regex", "vm,slipway-[1:1]@0(2)", "-mca", "orte_hnp_uri",
             "87.0;tcp://10.0.0.1:4"}));
  EXPECT_EQ(orted_arguments({" orted -mca plm 'r s h' \\\"x"}).value(),
            (Words{"-mca", "plm", "r s h", "\"x"}));
}

TEST(OrtedCommand, LeavesOutWhatPreparesAShell) {
  EXPECT_EQ(
      orted_arguments({"PATH=/opt/mpi/bin:$PATH ; export PATH ; /opt/mpi/bin/orted -mca plm rsh"}).value(),
      (Words{"-mca", "plm", "rsh"}));
}

TEST(OrtedCommand, RefusesEverythingElse) {
  for (const Words& words :
       {Words{}, Words{""}, Words{"rm", "-rf", "/"}, Words{"orted", "-x", ";", "reboot"},
        Words{"orted", "&&", "reboot"}, Words{"orted", "\"open"}, Words{"orted", "a\\"}, Words{"norted"}})
    EXPECT_FALSE(orted_arguments(words));
}

TEST(OrtedCommand, FindsTheRankThatFailedFirst) {
  EXPECT_EQ(failed_rank_in("...\n  Process name: [[29813,1],3]\n  Exit code:    7\n"), 3);
  EXPECT_EQ(
      failed_rank_in("mpirun noticed that process rank 2 with PID 0 on node slipway-1 exited on signal 9"),
      2);
  EXPECT_EQ(failed_rank_in("Process name: [["), -1);
  EXPECT_EQ(failed_rank_in("process rank many"), -1);
  EXPECT_EQ(failed_rank_in(""), -1);
}

}  // namespace
}  // namespace slipway::launch
