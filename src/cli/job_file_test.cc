#include "cli/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

Error error_of(std::string_view text) {
  const auto fields = parse_job_file(text, "job.yaml");
  EXPECT_FALSE(fields) << text;
  return fields ? Error{} : fields.error();
}

TEST(JobFile, ReadsEveryKey) {
  const auto fields = parse_job_file(R"(
command: python train.py --name "a b"
source: src
experiment: digits
name: first try
compute: gpu
environment: pytorch-2
nodes: 2
priority: low
attempts: 5
timeout: 2h
grace: 30s
resources: {cpus: 0.5, memory: 4GiB, gpus: 1}
tags: {owner: me, empty: }
variables:
  OMP_NUM_THREADS: 4
)",
                                     "job.yaml");
  ASSERT_TRUE(fields) << fields.error().message;
  const auto job = to_job(*fields);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_THAT(job->command, ElementsAre("python", "train.py", "--name", "a b"));
  EXPECT_EQ(fields->source, "src");
  EXPECT_EQ(job->experiment.str(), "digits");
  EXPECT_EQ(job->display_name, "first try");
  EXPECT_EQ(job->compute.str(), "gpu");
  EXPECT_EQ(job->environment, "pytorch-2");
  EXPECT_EQ(job->nodes, 2);
  EXPECT_EQ(job->priority, JobPriority::kLow);
  EXPECT_EQ(job->max_attempts, 5);
  EXPECT_EQ(job->timeout, std::chrono::hours(2));
  EXPECT_EQ(job->grace, std::chrono::seconds(30));
  EXPECT_EQ(job->resources, (Resources{.cpus = 0.5, .memory_bytes = 4ULL << 30, .gpus = 1}));
  EXPECT_THAT(job->tags, ElementsAre(Pair("empty", ""), Pair("owner", "me")));
  EXPECT_THAT(job->variables, ElementsAre(Pair("OMP_NUM_THREADS", "4")));
}

TEST(JobFile, TakesTheCommandAsAListWithoutSplittingItsItems) {
  const auto fields = parse_job_file("command: [sh, -c, 'echo $X; exit 3']", "job.yaml");
  ASSERT_TRUE(fields);
  EXPECT_THAT(*fields->command, ElementsAre("sh", "-c", "echo $X; exit 3"));
}

TEST(JobFile, NamesThePlaceAndTheNearestKeyOfAnUnknownOne) {
  const Error error = error_of("command: true\n  \nenviroment: x\n");
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.message, "job.yaml:3:1: unknown key 'enviroment'");
  EXPECT_EQ(error.next, "did you mean 'environment'?");
  EXPECT_THAT(error_of("zzzzzz: 1").next, StartsWith("known keys: command, source"));
  EXPECT_THAT(error_of("resources:\n  cpu: 1").message, StartsWith("job.yaml:2:3: unknown key 'cpu'"));
}

TEST(JobFile, NamesThePlaceOfAWrongValue) {
  EXPECT_THAT(error_of("nodes: many").message, StartsWith("job.yaml:1:8: 'many' is not a whole number"));
  EXPECT_THAT(error_of("nodes: 0").message, HasSubstr("at least 1"));
  EXPECT_THAT(error_of("priority: urgent").message,
              StartsWith("job.yaml:1:11: a job has no priority 'urgent'"));
  EXPECT_THAT(error_of("timeout: soon").message, StartsWith("job.yaml:1:10: 'soon' is not a duration"));
  EXPECT_THAT(error_of("resources: {memory: lots}").message,
              StartsWith("job.yaml:1:21: 'lots' is not a size"));
  EXPECT_THAT(error_of("experiment: a/b").message,
              StartsWith("job.yaml:1:13: 'a/b' is not a valid experiment name"));
  EXPECT_THAT(error_of("tags: [a, b]").message, StartsWith("job.yaml:1:7: "));
  EXPECT_THAT(error_of("command: {a: b}").message, StartsWith("job.yaml:1:10: "));
  EXPECT_THAT(error_of("command: \"a 'b\"").message, StartsWith("job.yaml:1:10: a quote"));
  EXPECT_THAT(error_of("compute:").message, HasSubstr("'compute' has no value"));
  EXPECT_THAT(error_of("nodes: 1\nnodes: 2").message,
              StartsWith("job.yaml:2:1: 'nodes' stands here a second"));
}

TEST(JobFile, SaysWhereYamlItselfIsBroken) {
  EXPECT_THAT(error_of("command: [a, b\nnodes: 1").message, StartsWith("job.yaml:2:"));
  EXPECT_THAT(error_of("").message, HasSubstr("empty"));
  EXPECT_THAT(error_of("- a\n- b").message, StartsWith("job.yaml:1:1: the job must be"));
  EXPECT_THAT(error_of(std::string(20000, '[')).message, HasSubstr("not valid YAML"));
}

TEST(JobFile, GivesWayToFlags) {
  JobFields file = parse_job_file("{command: a, nodes: 2, tags: {x: file, y: file}}", "job.yaml").value();
  JobFields flags;
  flags.nodes = 3;
  flags.tags = {{"x", "flag"}};
  const JobFields both = overlay(file, flags);
  EXPECT_EQ(both.nodes, 3);
  EXPECT_THAT(*both.command, ElementsAre("a"));
  EXPECT_THAT(both.tags, ElementsAre(Pair("x", "flag"), Pair("y", "file")));
}

TEST(ToJob, RefusesABadNameBeforeAnythingIsSent) {
  JobFields fields;
  fields.command = {"true"};
  fields.experiment = "../x";
  const auto job = to_job(fields);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace slipway::cli
