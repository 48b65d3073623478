#include "launch/launcher.h"

#include <gtest/gtest.h>

#include "launch/network.h"
#include "launch/plan.h"

namespace slipway::launch {
namespace {

AttemptOrder order_of(const char* launcher, int nodes, int processes, int node_rank) {
  AttemptOrder order;
  order.key = {RunId("digits-x7k2mq9w"), 1, node_rank};
  order.workspace = WorkspaceName("main");
  order.job.command = {"python", "train.py"};
  order.job.launcher = parse_launcher(launcher).value();
  order.job.nodes = nodes;
  order.job.processes = processes;
  order.launch_secret = Secret("s3cret");
  return order;
}

// Every node holds ports 4000 + 10 * rank and so on.
std::vector<NodeOffer> offers_for(const Job& job) {
  std::vector<NodeOffer> offers;
  for (int node = 0; node < job.nodes; ++node) {
    NodeOffer offer{.rank = node, .address = "10.0.0." + std::to_string(node + 1), .ports = {}};
    for (int i = 0; i < ports_needed(job, node); ++i) offer.ports.push_back(4000 + 10 * node + i);
    offers.push_back(std::move(offer));
  }
  return offers;
}

Launch launched(const AttemptOrder& order) {
  const auto offers = offers_for(order.job);
  auto result = launch({.order = order,
                        .offers = offers,
                        .command = order.job.command,
                        .folder = "/attempt",
                        .program = "/opt/bin/slipway"});
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : Launch{.processes = {}};
}

TEST(Launchers, NoneStartsTheCommandOnceOnEachNode) {
  const Launch launch = launched(order_of("none", 3, 1, 2));
  ASSERT_EQ(launch.processes.size(), 1U);
  EXPECT_EQ(launch.processes[0].rank, 2);
  EXPECT_EQ(launch.processes[0].log, "user_logs/std_log_process_2.txt");
  EXPECT_EQ(launch.processes[0].environment.at("SLIPWAY_PROCESS_COUNT"), "3");
}

TEST(Launchers, PyTorchTellsEachProcessWhoItIsAndWhereToMeet) {
  AttemptOrder order = order_of("pytorch", 2, 2, 1);
  order.gpu_indices = {0, 1};
  const Launch launch = launched(order);
  EXPECT_EQ(launch.variables.at("MASTER_ADDR"), "10.0.0.1");
  EXPECT_EQ(launch.variables.at("MASTER_PORT"), "4000");
  EXPECT_EQ(launch.variables.at("WORLD_SIZE"), "4");
  EXPECT_EQ(launch.variables.at("NODE_RANK"), "1");
  ASSERT_EQ(launch.processes.size(), 2U);
  EXPECT_EQ(launch.processes[1].environment.at("RANK"), "3");
  EXPECT_EQ(launch.processes[1].environment.at("LOCAL_RANK"), "1");
  EXPECT_EQ(launch.processes[1].log, "user_logs/std_log_process_3.txt");
  EXPECT_FALSE(launch.processes[1].environment.contains("CUDA_VISIBLE_DEVICES"))
      << "scripts take the GPU of their LOCAL_RANK";
}

TEST(Launchers, PyTorchLeavesTheProcessesOfANodeToTorchrun) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"torchrun", "train.py"},
        std::vector<std::string>{"/env/bin/torchrun", "train.py"},
        std::vector<std::string>{"python", "-m", "torch.distributed.run", "train.py"}}) {
    AttemptOrder order = order_of("pytorch", 2, 4, 1);
    order.job.command = command;
    const Launch launch = launched(order);
    ASSERT_EQ(launch.processes.size(), 1U);
    EXPECT_EQ(launch.variables.at("PET_NPROC_PER_NODE"), "4");
    EXPECT_EQ(launch.variables.at("PET_NODE_RANK"), "1");
    EXPECT_EQ(launch.variables.at("PET_MASTER_PORT"), "4000");
  }
}

TEST(Launchers, PyTorchGivesTheOlderLaunchModuleItsSettingsAsWords) {
  AttemptOrder order = order_of("pytorch", 2, 4, 1);
  order.job.command = {"python", "-m", "torch.distributed.launch", "--use_env", "train.py", "-m", "x"};
  const Launch launch = launched(order);
  ASSERT_EQ(launch.processes.size(), 1U);
  EXPECT_EQ(launch.processes[0].argv,
            (std::vector<std::string>{"python", "-m", "torch.distributed.launch", "--nnodes=2",
                                      "--nproc_per_node=4", "--node_rank=1", "--master_addr=10.0.0.1",
                                      "--master_port=4000", "--use_env", "train.py", "-m", "x"}));
}

TEST(Launchers, TensorFlowNamesEveryTaskAndItsPlace) {
  const Launch launch = launched(order_of("tensorflow:workers=2,ps=1,chief", 2, 2, 0));
  ASSERT_EQ(launch.processes.size(), 2U);
  EXPECT_EQ(launch.end_rule, EndRule::kLeader);
  const auto config = parse_json_object(launch.processes[0].environment.at("TF_CONFIG"), "TF_CONFIG").value();
  const json::object& cluster = config.at("cluster").as_object();
  EXPECT_EQ(json::serialize(cluster.at("chief")), R"(["10.0.0.1:4000"])");
  EXPECT_EQ(json::serialize(cluster.at("worker")), R"(["10.0.0.2:4010","10.0.0.1:4001"])");
  EXPECT_EQ(json::serialize(cluster.at("ps")), R"(["10.0.0.2:4011"])");
  EXPECT_EQ(config.at("environment").as_string(), "cloud");
  EXPECT_EQ(config.at("task").at("type").as_string(), "chief");
  const auto second = parse_json_object(launch.processes[1].environment.at("TF_CONFIG"), "TF_CONFIG").value();
  EXPECT_EQ(second.at("task").at("type").as_string(), "worker");
  EXPECT_EQ(second.at("task").at("index").as_int64(), 1);
}

TEST(Launchers, TensorFlowAloneHasNoCluster) {
  const AttemptOrder order = order_of("tensorflow", 1, 1, 0);
  const auto result = launch({.order = order, .offers = {}, .command = order.job.command, .folder = "/a"});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->processes[0].environment.contains("TF_CONFIG"));
  EXPECT_EQ(result->processes[0].log, "std_log.txt");
}

TEST(Launchers, TensorFlowDividesTheGpusOfANode) {
  AttemptOrder order = order_of("tensorflow", 1, 2, 0);
  order.gpu_indices = {2, 3, 5, 7};
  const Launch launch = launched(order);
  EXPECT_EQ(launch.processes[0].environment.at("CUDA_VISIBLE_DEVICES"), "2,3");
  EXPECT_EQ(launch.processes[1].environment.at("CUDA_VISIBLE_DEVICES"), "5,7");
  order.job.variables["CUDA_VISIBLE_DEVICES"] = "0";
  EXPECT_FALSE(launched(order).processes[0].environment.contains("CUDA_VISIBLE_DEVICES")) << "the job's wins";
}

TEST(Launchers, GpusAreSharedFairly) {
  EXPECT_EQ(gpus_for({}, 0, 2), "");
  EXPECT_EQ(gpus_for({4}, 1, 2), "4") << "fewer than processes: they take turns";
  EXPECT_EQ(gpus_for({0, 1, 2}, 0, 2), "0");
  EXPECT_EQ(gpus_for({0, 1, 2}, 1, 2), "1,2");
}

TEST(Launchers, MpiRunsOneMpirunThatReachesTheOthersThroughSlipway) {
  const Launch launch = launched(order_of("mpi", 2, 2, 0));
  ASSERT_EQ(launch.processes.size(), 1U);
  const ProcessSpec& mpirun = launch.processes[0];
  EXPECT_EQ(mpirun.argv.front(), "mpirun");
  EXPECT_EQ(mpirun.argv.back(), "train.py");
  EXPECT_EQ(mpirun.environment.at("SLIPWAY_MPI_PEERS"), "slipway-1=10.0.0.2:4010");
  EXPECT_EQ(mpirun.environment.at("OMPI_MCA_plm_rsh_agent"), "/opt/bin/slipway mpi-start --");
  EXPECT_EQ(launch.files.at("/attempt/mpi/hostfile"), "localhost slots=2\nslipway-1 slots=2\n");
  ASSERT_EQ(launch.pipes.size(), 2U);
  EXPECT_EQ(launch.pipes[1].log, "user_logs/std_log_process_1.txt");
  for (const std::string& word : mpirun.argv) EXPECT_EQ(word.find("s3cret"), std::string::npos);
}

TEST(Launchers, MpiGivesNodesThatShareAMachineNamesOfTheirOwn) {
  const AttemptOrder order = order_of("mpi", 3, 1, 2);
  std::vector<NodeOffer> offers = offers_for(order.job);
  const auto name = [&] {
    auto launched =
        launch({.order = order, .offers = offers, .command = order.job.command, .folder = "/attempt"});
    return launched.value().processes[0].environment["SLIPWAY_MPI_HOST"];
  };
  EXPECT_EQ(name(), "");
  offers[1].address = offers[2].address;
  EXPECT_EQ(name(), "slipway-2");
}

TEST(Launchers, MpiWaitsOnTheOtherNodes) {
  const Launch launch = launched(order_of("mpi", 2, 2, 1));
  ASSERT_EQ(launch.processes.size(), 1U);
  EXPECT_EQ(launch.processes[0].argv, (std::vector<std::string>{"/opt/bin/slipway", "mpi-node"}));
  EXPECT_EQ(launch.processes[0].environment.at("SLIPWAY_MPI_LISTEN"), "10.0.0.2:4010");
  ASSERT_EQ(launch.pipes.size(), 2U);
  EXPECT_EQ(launch.pipes[0].rank, 2);
}

TEST(Launchers, RefuseOffersThatLackWhatTheyNeed) {
  for (const char* launcher : {"pytorch", "tensorflow", "mpi"}) {
    const AttemptOrder order = order_of(launcher, 2, 1, 0);
    std::vector<NodeOffer> offers = offers_for(order.job);
    for (NodeOffer& offer : offers) offer.ports.clear();
    EXPECT_FALSE(launch({.order = order, .offers = offers, .command = order.job.command, .folder = "/a"}))
        << launcher;
    offers.pop_back();
    EXPECT_FALSE(launch({.order = order, .offers = offers, .command = order.job.command, .folder = "/a"}))
        << launcher;
  }
}

TEST(Network, IsTheNodesInterfaceUnlessTheJobSaysOtherwise) {
  AttemptOrder order = order_of("pytorch", 2, 1, 0);
  order.job.variables = {{"NCCL_SOCKET_IFNAME", "ib0"}, {"NCCL_DEBUG", "INFO"}, {"EPOCHS", "3"}};
  const NetworkPlace place{.interface = "eth1", .subnet = "10.0.0.0/24"};
  EXPECT_EQ(network_variables(order.job, place).at("GLOO_SOCKET_IFNAME"), "eth1");
  EXPECT_EQ(network_sentence(order.job, place),
            "GLOO_SOCKET_IFNAME=eth1, TP_SOCKET_IFNAME=eth1, NCCL_DEBUG=INFO (the job's), "
            "NCCL_SOCKET_IFNAME=ib0 (the job's)");
  order.job.launcher.kind = LauncherKind::kMpi;
  EXPECT_EQ(network_variables(order.job, place).at("OMPI_MCA_btl_tcp_if_include"), "10.0.0.0/24");
  order.job.nodes = 1;
  EXPECT_TRUE(network_variables(order.job, place).empty()) << "one process talks to nobody";
}

}  // namespace
}  // namespace slipway::launch
