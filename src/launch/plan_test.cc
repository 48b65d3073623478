#include "launch/plan.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

namespace slipway::launch {
namespace {

AttemptOrder order() {
  AttemptOrder order;
  order.key = {RunId("digits-x7k2mq9w"), 2, 1};
  order.workspace = WorkspaceName("main");
  order.job.experiment = ExperimentName("digits");
  order.job.command = {"python", "train.py", "a b"};
  order.peers = {{1, NodeId("n-2"), "10.0.0.2"}, {0, NodeId("n-1"), "10.0.0.1"}};
  order.granted = {.cpus = 2, .memory_bytes = 1 << 30, .gpus = 2};
  order.gpu_indices = {1, 3};
  order.run_token = Secret("slw_run_secret");
  order.log_quota_bytes = 77;
  return order;
}

LaunchSite site() {
  return {
      .folder = "/home/u/.slipway/nodes/n-2/attempts/digits-x7k2mq9w.2.1",
      .url = "http://127.0.0.1:7070",
      .environment = {{"PATH", "/usr/bin"}, {"HOME", "/home/u"}, {"AWS_SECRET", "x"}, {"SLIPWAY_HOME", "/y"}},
      .mark = "m4rk",
      .path_prefix = "",
      .variables = {}};
}

TEST(LaunchPlan, StartsTheCommandAsItIs) {
  const auto planned = plan(order(), site());
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->launch.processes.front().argv, (std::vector<std::string>{"python", "train.py", "a b"}));
  EXPECT_EQ(planned->work, site().folder / "work");
}

TEST(LaunchPlan, TellsTheJobWhereItIs) {
  const auto planned = plan(order(), site());
  ASSERT_TRUE(planned);
  const auto& environment = planned->environment;
  EXPECT_EQ(environment.at("SLIPWAY_RUN_ID"), "digits-x7k2mq9w");
  EXPECT_EQ(environment.at("SLIPWAY_ATTEMPT"), "2");
  EXPECT_EQ(environment.at("SLIPWAY_NODE_RANK"), "1");
  EXPECT_EQ(environment.at("SLIPWAY_NODE_COUNT"), "2");
  EXPECT_EQ(environment.at("SLIPWAY_NODES"), "10.0.0.1,10.0.0.2");
  EXPECT_EQ(environment.at("SLIPWAY_TOKEN"), "slw_run_secret");
  EXPECT_EQ(environment.at("SLIPWAY_OUTPUTS"), (site().folder / "work/outputs").string());
  EXPECT_EQ(environment.at("SLIPWAY_SOCKET"), (site().folder / "run.sock").string());
  EXPECT_EQ(environment.at("CUDA_VISIBLE_DEVICES"), "1,3");
  EXPECT_EQ(environment.at("SLIPWAY_MARK"), "m4rk");
}

TEST(LaunchPlan, PassesOnNothingElseOfTheAgentsEnvironment) {
  const auto planned = plan(order(), site());
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->environment.at("HOME"), "/home/u");
  EXPECT_FALSE(planned->environment.contains("AWS_SECRET"));
  EXPECT_FALSE(planned->environment.contains("SLIPWAY_HOME"));
}

TEST(LaunchPlan, TheJobsVariablesWinExceptOverThoseOfSlipway) {
  AttemptOrder mine = order();
  mine.job.variables = {{"PATH", "/opt/bin"}, {"SLIPWAY_TOKEN", "stolen"}, {"OMP_NUM_THREADS", "4"}};
  LaunchSite prepared = site();
  prepared.path_prefix = "/env/bin";
  prepared.variables = {{"OMP_NUM_THREADS", "1"}, {"VIRTUAL_ENV", "/env"}};
  const auto planned = plan(mine, prepared);
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->environment.at("PATH"), "/opt/bin");
  EXPECT_EQ(planned->environment.at("OMP_NUM_THREADS"), "4");
  EXPECT_EQ(planned->environment.at("VIRTUAL_ENV"), "/env");
  EXPECT_EQ(planned->environment.at("SLIPWAY_TOKEN"), "slw_run_secret");
}

TEST(LaunchPlan, FindsSlipwayItselfBehindEverythingElseOnThePath) {
  LaunchSite prepared = site();
  prepared.path_prefix = "/env/bin";
  prepared.program_folder = "/opt/slipway/bin";
  const auto planned = plan(order(), prepared);
  ASSERT_TRUE(planned);
  EXPECT_TRUE(planned->environment.at("PATH").starts_with("/env/bin:"));
  EXPECT_TRUE(planned->environment.at("PATH").ends_with(":/opt/slipway/bin"));
}

TEST(LaunchPlan, HidesTheGpusOfNeighboursFromAJobWithoutOne) {
  AttemptOrder mine = order();
  mine.gpu_indices.clear();
  const auto planned = plan(mine, site());
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->environment.at("CUDA_VISIBLE_DEVICES"), "");
}

TEST(LaunchPlan, ShowsTheOneModelsFolderOrThatOfAllOfThem) {
  AttemptOrder mine = order();
  mine.job.command = {"serve", "${models.my.net-1}"};
  mine.models = {{.name = "my.net-1", .version = 3, .manifest = "", .framework = ModelFramework::kOnnx}};
  LaunchSite placed = site();
  placed.data.models = {{"my.net-1", "/m/net.onnx"}};
  auto planned = plan(mine, placed);
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->launch.processes.front().argv.back(), "/m/net.onnx");
  EXPECT_EQ(planned->environment.at("SLIPWAY_MODEL_DIR"), (site().folder / "models/my.net-1/3").string());
  mine.models.push_back({.name = "b", .version = 1, .manifest = "", .framework = ModelFramework::kOnnx});
  planned = plan(mine, placed);
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->environment.at("AZUREML_MODEL_DIR"), (site().folder / "models").string());
  mine.job.command = {"serve", "${models.none}"};
  EXPECT_FALSE(plan(mine, placed));
}

TEST(LaunchPlan, RefusesAnEmptyCommand) {
  AttemptOrder mine = order();
  mine.job.command.clear();
  const auto planned = plan(mine, site());
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, ErrorCode::kInvalidArgument);
}

TEST(LaunchPlan, GivesASocketPathThatFitsHoweverLongTheFolderIs) {
  const std::filesystem::path deep = "/" + std::string(150, 'd');
  EXPECT_LT(socket_path(deep).native().size(), 108U);
  EXPECT_NE(socket_path(deep), socket_path(deep / "e"));
}

TEST(SupervisorSpec, SurvivesTheWayThroughItsFileAndIsReadableByItsOwnerAlone) {
  std::string pattern = (std::filesystem::temp_directory_path() / "slipway-spec-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  AttemptOrder mine = order();
  mine.job.timeout = std::chrono::milliseconds(1500);
  const auto spec = supervisor_spec(mine, site());
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->limits.memory_bytes, 1U << 30);
  ASSERT_TRUE(write_spec(folder, *spec, mine));
  const auto read_back = read_spec(folder);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, *spec);
  const auto order_back = read_order(folder);
  ASSERT_TRUE(order_back) << order_back.error().message;
  EXPECT_EQ(order_back->key, mine.key);
  EXPECT_EQ(order_back->run_token.reveal(), "slw_run_secret");
  struct stat status{};
  ASSERT_EQ(::stat((folder / "spec.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  std::filesystem::remove_all(folder);
}

TEST(SupervisorSpec, IsRefusedWithoutAProgram) {
  const auto spec = supervisor_spec_from_json(
      parse_json_object(
          R"({"key":{"run":"r-1","attempt":1,"rank":0},"mark":"m","processes":[{"rank":0,"argv":[]}],"environment":{},)"
          R"("work":"/w","socket":"/s"})",
          "test")
          .value());
  ASSERT_FALSE(spec);
  EXPECT_NE(spec.error().message.find("no program"), std::string::npos);
}

}  // namespace
}  // namespace slipway::launch
