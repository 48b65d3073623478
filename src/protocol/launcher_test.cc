#include "protocol/launcher.h"

#include <gtest/gtest.h>

#include "protocol/job.h"

namespace slipway {
namespace {

Job job_with(const char* launcher, int nodes, int processes) {
  Job job;
  job.command = {"python", "train.py"};
  job.launcher = parse_launcher(launcher).value();
  job.nodes = nodes;
  job.processes = processes;
  return job;
}

std::string refusal(const char* launcher, int nodes, int processes) {
  const Status status = check_launcher(job_with(launcher, nodes, processes));
  return status ? "" : status.error().message;
}

TEST(Launcher, IsWrittenAsItIsRead) {
  for (const char* text : {"none", "mpi", "pytorch", "tensorflow", "tensorflow:workers=2,ps=1",
                           "tensorflow:workers=2,ps=1,chief", "tensorflow:ps=3", "tensorflow:chief"}) {
    const auto launcher = parse_launcher(text);
    ASSERT_TRUE(launcher) << text;
    EXPECT_EQ(to_text(*launcher), text);
  }
  EXPECT_EQ(parse_launcher("tensorflow:ps=0,workers=1,chief=1").value(),
            (Launcher{.kind = LauncherKind::kTensorFlow, .workers = 1, .ps = 0, .chief = true}));
}

TEST(Launcher, RefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"", "MPI", "horovod", "mpi:2", "pytorch:workers=2", "tensorflow:", "tensorflow:workers",
        "tensorflow:ps=x", "tensorflow:workers=0", "tensorflow:workers=-1", "tensorflow:workers=99999999999",
        "tensorflow:ps=1,", "tensorflow:chief=2", "tensorflow:evaluator=1", "tensorflow workers=1"}) {
    const auto launcher = parse_launcher(text);
    ASSERT_FALSE(launcher) << text;
    EXPECT_FALSE(launcher.error().next.empty()) << text;
  }
}

TEST(Launcher, MustFitNodesAndProcesses) {
  EXPECT_EQ(refusal("pytorch", 2, 4), "");
  EXPECT_EQ(refusal("tensorflow:workers=2,ps=1", 2, 2), "");
  EXPECT_EQ(refusal("tensorflow:workers=2,ps=1", 3, 1), "");
  EXPECT_NE(refusal("none", 2, 2).find("need a launcher"), std::string::npos);
  EXPECT_NE(refusal("mpi", 1, 0).find("'processes'"), std::string::npos);
  EXPECT_NE(refusal("mpi", 1, 257).find("'processes'"), std::string::npos);
  EXPECT_NE(refusal("tensorflow:workers=2,ps=1", 2, 1).find("needs 3 processes"), std::string::npos);
  EXPECT_NE(refusal("tensorflow:workers=2", 3, 1).find("without one"), std::string::npos);
  EXPECT_NE(refusal("tensorflow:ps=2", 2, 1).find("no place for a worker"), std::string::npos);
}

TEST(Launcher, CountsProcessesOverTheWholeRun) {
  EXPECT_EQ(process_count(job_with("none", 3, 1)), 3);
  EXPECT_EQ(process_count(job_with("mpi", 2, 4)), 8);
  EXPECT_EQ(process_count(job_with("tensorflow", 2, 2)), 4);
  EXPECT_EQ(process_count(job_with("tensorflow:workers=2,ps=1", 2, 2)), 3);
  EXPECT_EQ(process_count(job_with("tensorflow:ps=1,chief", 2, 2)), 4);
}

TEST(Launcher, NamesTheLogThatIsSeenFirst) {
  EXPECT_EQ(first_log(job_with("none", 1, 1)), "std_log.txt");
  EXPECT_EQ(first_log(job_with("pytorch", 1, 2)), "user_logs/std_log_process_0.txt");
  EXPECT_EQ(first_rank_of_node(job_with("pytorch", 2, 2), 1), 2);
  EXPECT_EQ(first_rank_of_node(job_with("tensorflow", 2, 2), 1), 1);
}

TEST(Launcher, StandsInAJobsRecordAndIsCheckedThere) {
  const auto back = job_from_json(to_json(job_with("tensorflow:workers=2,ps=1", 2, 2)));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->launcher.ps, 1);
  EXPECT_EQ(back->processes, 2);
  EXPECT_FALSE(job_from_json({{"command", {"a"}}, {"processes", 2}}));
  EXPECT_FALSE(job_from_json({{"command", {"a"}}, {"launcher", "slurm"}}));
}

}  // namespace
}  // namespace slipway
