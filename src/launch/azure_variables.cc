#include "launch/azure_variables.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway::launch {
namespace {

constexpr int kMasterPort = 6105;

std::string first_address(const AttemptOrder& order) {
  const auto first = std::ranges::find(order.peers, 0, &Peer::rank);
  return first == order.peers.end() || first->address.empty() ? "127.0.0.1" : first->address;
}

}  // namespace

std::map<std::string, std::string> azure_variables(const AttemptOrder& order, const std::string& url) {
  if (!order.job.variables.contains(std::string(kAzureWorkspace))) return {};
  const std::string master = first_address(order);
  return {{"AZUREML_RUN_ID", order.key.run.str()},
          {"AZUREML_RUN_TOKEN", order.run_token.reveal()},
          {"AZUREML_SERVICE_ENDPOINT", url},
          {"AZUREML_NODE_COUNT", std::to_string(std::max<size_t>(1, order.peers.size()))},
          {"AZ_BATCH_MASTER_NODE", fmt::format("{}:{}", master, kMasterPort)},
          {"AZ_BATCHAI_MPI_MASTER_NODE", master},
          {"AZ_BATCHAI_TASK_INDEX", std::to_string(order.key.rank)}};
}

}  // namespace slipway::launch
