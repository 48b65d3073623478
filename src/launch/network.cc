#include "launch/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace slipway::launch {
namespace {

constexpr std::string_view kCollective[] = {"NCCL_", "GLOO_", "TP_SOCKET_", "OMPI_MCA_", "UCX_", "HOROVOD_"};
constexpr size_t kLongestValue = 200;

bool is_collective(std::string_view name) {
  return std::ranges::any_of(kCollective, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::map<std::string, std::string> network_variables(const Job& job, const NetworkPlace& place) {
  if (process_count(job) < 2 || place.interface.empty()) return {};
  std::map<std::string, std::string> variables{{"GLOO_SOCKET_IFNAME", place.interface},
                                               {"NCCL_SOCKET_IFNAME", place.interface},
                                               {"TP_SOCKET_IFNAME", place.interface}};
  if (job.launcher.kind == LauncherKind::kMpi) {
    // Plain TCP between nodes works everywhere; who has something quicker names it (OMPI_MCA_pml=ucx).
    variables.insert({{"OMPI_MCA_oob_tcp_if_include", place.subnet},
                      {"OMPI_MCA_btl_tcp_if_include", place.subnet},
                      {"OMPI_MCA_pml", "ob1"},
                      {"OMPI_MCA_btl", "self,vader,tcp"}});
  }
  return variables;
}

std::string network_sentence(const Job& job, const NetworkPlace& place) {
  std::vector<std::string> settings;
  for (const auto& [name, value] : network_variables(job, place))
    if (!job.variables.contains(name)) settings.push_back(fmt::format("{}={}", name, value));
  for (const auto& [name, value] : job.variables)
    if (is_collective(name))
      settings.push_back(fmt::format("{}={} (the job's)", name, value.substr(0, kLongestValue)));
  return fmt::format("{}", fmt::join(settings, ", "));
}

}  // namespace slipway::launch
