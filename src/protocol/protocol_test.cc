#include <gtest/gtest.h>

#include "protocol/job.h"
#include "protocol/node.h"

namespace slipway {
namespace {

Job full_job() {
  Job job;
  job.experiment = ExperimentName("digits");
  job.display_name = "first try \xc3\xa9";
  job.compute = ClusterName("gpu");
  job.environment = "torch-2.1";
  job.command = {"python", "train.py", "--rate", "0.1", ""};
  job.snapshot = std::string(64, 'a');
  job.tags = {{"who", "me"}, {"why", "because\nso"}};
  job.variables = {{"A", "1=2"}, {"EMPTY", ""}};
  job.nodes = 3;
  job.resources = {.cpus = 1.5, .memory_bytes = uint64_t{5} << 30, .gpus = 2};
  job.priority = JobPriority::kHigh;
  job.timeout = std::chrono::hours(2);
  job.grace = std::chrono::milliseconds(1500);
  job.max_attempts = 5;
  job.environment = "curated/pytorch:2";
  job.inputs = {
      {"mnist", {.dataset = "mnist:2", .mode = DataMode::kDownload, .path = "data", .verify = false}}};
  job.outputs = {{"model",
                  {.datastore = "images",
                   .path = "runs/{run-id}",
                   .mode = OutputMode::kMount,
                   .register_as = "models",
                   .overwrite = true}}};
  job.models = {"digits:3", "house.prices"};
  job.git = {.commit = "abc", .branch = "main", .remote = "https://example.org/r.git", .dirty = true};
  return job;
}

Result<Job> read_job(std::string_view text) {
  SLIPWAY_ASSIGN(const json::object object, parse_json_object(text, "the job"));
  return job_from_json(object);
}

std::string refusal(std::string_view text) {
  const auto job = read_job(text);
  return job ? "taken" : job.error().message;
}

TEST(Job, ComesBackTheSameFromItsJson) {
  const Job job = full_job();
  const auto again = read_job(json::serialize(to_json(job)));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, job);
}

TEST(Job, WritesTimesAsSecondsAndWholeNumbersPlainly) {
  const std::string text = json::serialize(to_json(full_job()));
  EXPECT_NE(text.find(R"("timeout_seconds":7200)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("grace_seconds":1.5E0)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("nodes":3)"), std::string::npos) << text;
}

TEST(Job, HasDefaultsForAllButTheCommand) {
  const auto job = read_job(R"({"command":["true"]})");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->compute.str(), "local");
  EXPECT_EQ(job->environment, "system");
  EXPECT_EQ(job->grace, std::chrono::seconds(10));
  EXPECT_EQ(refusal("{}"), "the job lacks the field 'command'");
}

TEST(Job, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(refusal(R"({"command":["true"],"node":2})"), "the job has an unknown field 'node'");
  EXPECT_EQ(refusal(R"({"command":"true"})"), "the job: field 'command' must be a list of strings");
  EXPECT_EQ(refusal(R"({"command":["true"],"priority":"urgent"})"), "a job has no priority 'urgent'");
  EXPECT_EQ(refusal(R"({"command":["true"],"nodes":0})"),
            "the job: field 'nodes' must be between 1 and 1024");
  EXPECT_EQ(refusal(R"({"command":["true"],"resources":{"cpu":1}})"),
            "the resources has an unknown field 'cpu'");
}

TEST(Job, RefusesWhatCannotBeRun) {
  EXPECT_EQ(refusal(R"({"command":[]})"), "the job has no command");
  EXPECT_EQ(refusal(R"({"command":[""]})"), "the job has no command");
  EXPECT_EQ(refusal(R"({"command":["a\u0000b"]})"), "an argument of the command holds a NUL byte");
  EXPECT_EQ(refusal(R"({"command":["a"],"variables":{"A=B":"1"}})"),
            "an environment variable of the job has no usable name");
  EXPECT_EQ(refusal(R"({"command":["a"],"variables":{"SLIPWAY_TOKEN":"1"}})"),
            "the environment variable 'SLIPWAY_TOKEN' cannot be set by a job");
  EXPECT_EQ(refusal(R"({"command":["a"],"experiment":"../x"})"), "'../x' is not a valid experiment name");
  EXPECT_NE(refusal(R"({"command":["a"],"timeout_seconds":-1})"), "taken");
  EXPECT_NE(refusal(R"({"command":["a"],"timeout_seconds":1e400})"), "taken");
  EXPECT_NE(refusal(R"({"command":["a"],"resources":{"cpus":1e400}})"), "taken");
  EXPECT_NE(refusal(R"({"command":["a"],"snapshot":"../../etc/passwd"})"), "taken");
}

TEST(AttemptKey, RefusesARunThatCouldLeaveItsFolder) {
  const auto read = [](std::string_view text) {
    return attempt_key_from_json(*parse_json_object(text, "it"));
  };
  EXPECT_EQ(to_text(*read(R"({"run":"digits-x7k2mq9w","attempt":1,"rank":0,"reason":"more"})")),
            "digits-x7k2mq9w.1.0");
  EXPECT_FALSE(read(R"({"run":"../x","attempt":1,"rank":0})"));
  EXPECT_FALSE(read(R"({"run":".x","attempt":1,"rank":0})"));
  EXPECT_FALSE(read(R"({"run":"x","attempt":0,"rank":0})"));
  EXPECT_FALSE(read(R"({"run":"x","attempt":1,"rank":-1})"));
}

TEST(AttemptOrder, ComesBackTheSameFromItsJson) {
  AttemptOrder order;
  order.key = {.run = RunId("digits-x7k2mq9w"), .attempt = 2, .rank = 1};
  order.workspace = WorkspaceName("default");
  order.job = full_job();
  order.environment.name = "tf";
  order.environment.version = 3;
  order.environment.definition.python = "3.6.2";
  order.environment.definition.pip = {"numpy==1.19"};
  order.environment.definition.container.image = "debian";
  order.environment.substitutions = {{.kind = "package", .from = "tensorflow-gpu", .to = "tensorflow-cpu"}};
  order.environment.lock = "numpy==1.19";
  InputOrder& input = order.inputs.emplace_back();
  input.name = "mnist";
  input.dataset = "mnist";
  input.version = 2;
  input.manifest = "d";
  input.wanted.dataset = "mnist:2";
  order.models = {{.name = "digits",
                   .version = 3,
                   .manifest = std::string(64, 'b'),
                   .framework = ModelFramework::kOnnx,
                   .files = 2,
                   .bytes = 5}};
  order.peers = {{0, NodeId("gpu-3f9a"), "10.0.0.1"}, {1, NodeId("gpu-77ab"), "10.0.0.2"}};
  order.granted = {.cpus = 4, .memory_bytes = 1 << 30, .gpus = 1};
  order.gpu_indices = {3};
  order.run_token = Secret("slw_a_b");
  order.log_quota_bytes = uint64_t{10} << 30;
  order.submitted_at = Timestamp{1'700'000'000'000'000};
  const auto again =
      attempt_order_from_json(*parse_json_object(json::serialize(to_json(order)), "the order"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->key, order.key);
  EXPECT_EQ(again->job, order.job);
  ASSERT_EQ(again->peers.size(), 2U);
  EXPECT_EQ(again->peers[1].address, "10.0.0.2");
  EXPECT_EQ(again->environment.definition, order.environment.definition);
  EXPECT_EQ(again->environment.substitutions, order.environment.substitutions);
  EXPECT_EQ(again->environment.lock, order.environment.lock);
  ASSERT_EQ(again->inputs.size(), 1U);
  EXPECT_EQ(again->inputs[0].wanted, order.inputs[0].wanted);
  EXPECT_EQ(again->inputs[0].version, 2);
  EXPECT_EQ(again->models, order.models);
  EXPECT_EQ(again->granted, order.granted);
  EXPECT_EQ(again->gpu_indices, order.gpu_indices);
  EXPECT_EQ(again->run_token.reveal(), "slw_a_b");
  EXPECT_EQ(again->log_quota_bytes, order.log_quota_bytes);
  EXPECT_EQ(again->submitted_at, order.submitted_at);
}

TEST(ModelReference, NamesANewestOrAnExactVersion) {
  EXPECT_EQ(*parse_model_reference("digits"), (ModelReference{.name = "digits", .version = 0}));
  EXPECT_EQ(*parse_model_reference("a.b-c_1:12"), (ModelReference{.name = "a.b-c_1", .version = 12}));
  EXPECT_EQ(to_text(*parse_model_reference("digits:3")), "digits:3");
  for (const std::string bad : {"", ":1", "digits:", "digits:0", "digits:-1", "digits:x", "digits:1:2",
                                "digits:99999999999", "../x:1", "a/b", ".a", "a b"})
    EXPECT_FALSE(parse_model_reference(bad)) << bad;
  EXPECT_TRUE(parse_model_reference(std::string(255, 'a')));
  EXPECT_FALSE(parse_model_reference(std::string(256, 'a')));
}

TEST(ModelFramework, TakesTheSpellingsOfAzure) {
  EXPECT_EQ(to_text(*model_framework_from_text("TensorFlow")), "tensorflow");
  EXPECT_EQ(to_text(*model_framework_from_text("TfKeras")), "keras");
  EXPECT_EQ(to_text(*model_framework_from_text("Onnx")), "onnx");
  EXPECT_EQ(to_text(*model_framework_from_text("PyTorch")), "pytorch");
  EXPECT_EQ(to_text(*model_framework_from_text("ScikitLearn")), "scikit-learn");
  EXPECT_EQ(to_text(*model_framework_from_text("Multi")), "custom");
  EXPECT_FALSE(model_framework_from_text("caffe"));
  EXPECT_FALSE(model_framework_from_text(""));
}

TEST(EnvironmentReference, NamesANewestOrAnExactVersion) {
  EXPECT_EQ(*parse_environment_reference("tf"), (EnvironmentReference{.name = "tf", .version = 0}));
  EXPECT_EQ(*parse_environment_reference("curated/tf:3"),
            (EnvironmentReference{.name = "curated/tf", .version = 3}));
  for (const char* bad : {"", "a/b", "tf:", "tf:0", "tf:x", "tf:1:2", "../tf", "curated/", "tf:99999999999"})
    EXPECT_FALSE(parse_environment_reference(bad)) << bad;
}

TEST(EnvironmentDefinition, RefusesAnImageBesideADockerfile) {
  const auto both = environment_definition_from_json(
      *parse_json_object(R"({"container":{"image":"a","dockerfile":"FROM b"}})", "it"));
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().message, "the environment names both an image and a Dockerfile");
}

TEST(EnvironmentDefinition, RefusesAnEntryOfSeveralLines) {
  EXPECT_FALSE(
      environment_definition_from_json(*parse_json_object(R"({"pip":["a\n-r /etc/passwd"]})", "it")));
}

TEST(JobInputs, RefuseANameThatCannotBeAVariable) {
  for (const char* bad :
       {R"({"1a":{"dataset":"d"}})", R"({"a-b":{"dataset":"d"}})", R"({"":{"dataset":"d"}})"})
    EXPECT_FALSE(job_inputs_from_json(*parse_json_object(bad, "it"))) << bad;
}

TEST(ExitStatus, ComesBackTheSameFromItsJson) {
  const ExitStatus status{.code = 137,
                          .signal = 9,
                          .out_of_memory = true,
                          .timed_out = false,
                          .canceled = true,
                          .killed_after_grace = true,
                          .reason = "killed: out of memory (limit 512 MiB)",
                          .started = {1},
                          .ended = {2}};
  const auto again = exit_status_from_json(to_json(status));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->code, 137);
  EXPECT_EQ(again->signal, 9);
  EXPECT_TRUE(again->out_of_memory && again->canceled && again->killed_after_grace && !again->timed_out);
  EXPECT_EQ(again->reason, status.reason);
  EXPECT_EQ(again->ended.micros, 2);
  EXPECT_FALSE(again->good());
}

TEST(OutputFile, RefusesAPathThatLeavesTheFolder) {
  OutputFile file{.path = "outputs/a", .digest = std::string(64, 'b'), .size = 7, .mode = 0755};
  EXPECT_EQ(output_file_from_json(to_json(file))->mode, 0755);
  file.path = "outputs/../../etc/passwd";
  EXPECT_FALSE(output_file_from_json(to_json(file)));
}

TEST(NodeCapacity, ComesBackTheSameFromItsJson) {
  const NodeCapacity capacity{.cpus = 2, .memory_bytes = 1 << 30, .gpus = 1, .gpu_names = {"H200"}};
  const auto again = node_capacity_from_json(to_json(capacity));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->cpus, 2);
  EXPECT_EQ(again->gpu_names, capacity.gpu_names);
}

}  // namespace
}  // namespace slipway
