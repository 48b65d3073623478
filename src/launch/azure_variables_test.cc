#include "launch/azure_variables.h"

#include <gtest/gtest.h>

namespace slipway::launch {
namespace {

AttemptOrder order() {
  AttemptOrder order;
  order.key = {RunId("digits-x7k2mq9w"), 1, 1};
  order.job.variables = {{std::string(kAzureWorkspace), "vision"}};
  order.peers = {{1, NodeId("n-2"), "10.0.0.2"}, {0, NodeId("n-1"), "10.0.0.1"}};
  order.run_token = Secret("slw_run_secret");
  return order;
}

TEST(AzureVariables, AreThoseThatOnlyTheNodeKnows) {
  const auto variables = azure_variables(order(), "http://127.0.0.1:7070");
  EXPECT_EQ(variables.at("AZUREML_RUN_ID"), "digits-x7k2mq9w");
  EXPECT_EQ(variables.at("AZUREML_RUN_TOKEN"), "slw_run_secret");
  EXPECT_EQ(variables.at("AZUREML_SERVICE_ENDPOINT"), "http://127.0.0.1:7070");
  EXPECT_EQ(variables.at("AZUREML_NODE_COUNT"), "2");
  EXPECT_EQ(variables.at("AZ_BATCH_MASTER_NODE"), "10.0.0.1:6105");
  EXPECT_EQ(variables.at("AZ_BATCHAI_TASK_INDEX"), "1");
}

TEST(AzureVariables, AreNotGivenToJobsThatTheCompanionDidNotSubmit) {
  AttemptOrder plain = order();
  plain.job.variables.clear();
  EXPECT_TRUE(azure_variables(plain, "http://127.0.0.1:7070").empty());
}

}  // namespace
}  // namespace slipway::launch
