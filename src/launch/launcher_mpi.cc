// One mpirun, on the first node, over all of them. It starts its daemons on the others through `slipway
// mpi-start`, which asks the `slipway mpi-node` that waits there: no sshd, and the daemon is a child of that
// node's supervisor, with its environment, its limits and its end.
//
// Nodes go by names of their own (slipway-1, slipway-2, ...) that nobody has to resolve: nodes may share a
// machine, and so an address or a host name. Each rank is a child of `slipway mpi-rank`, which gives it its
// node's working folder and its own log, and tells the node's supervisor how it ended.
#include <fmt/format.h>

#include <algorithm>

#include "launch/launcher.h"
#include "launch/mpi_variables.h"

namespace slipway::launch {
namespace {

constexpr const char* kLog = "system_logs/mpirun.txt";

// For its picture of a machine OpenMPI loads every plug-in of hwloc: one looks for X servers at some sixty
// addresses, one loads OpenCL, one a parser of XML beside hwloc's own. First mpirun does so and then orted,
// and neither has a use for what they find.
constexpr const char* kHwlocLeftOut = "hwloc_gl.so,hwloc_opencl.so,hwloc_xml_libxml.so";

std::string host_name(int node_rank) {
  return node_rank == 0 ? "localhost" : fmt::format("slipway-{}", node_rank);
}

std::string host_file(const Job& job) {
  std::string text;
  for (int node = 0; node < job.nodes; ++node)
    text += fmt::format("{} slots={}\n", host_name(node), job.processes);
  return text;
}

// "slipway-1=10.0.0.2:4711,slipway-2=..."
Result<std::string> peers_text(const std::vector<NodeOffer>& offers) {
  std::string text;
  for (size_t node = 1; node < offers.size(); ++node) {
    const NodeOffer& offer = offers[node];
    if (offer.ports.empty())
      return fail(ErrorCode::kInvalidArgument, fmt::format("node {} holds no port for mpirun", offer.rank));
    text += fmt::format("{}{}={}:{}", text.empty() ? "" : ",", host_name(static_cast<int>(node)),
                        offer.address, offer.ports.front());
  }
  return text;
}

Result<ProcessSpec> mpirun_process(const LaunchInput& input, const std::string& hosts) {
  const Job& job = input.order.job;
  if (input.program.find_first_of(" :") != std::string::npos)
    return fail(ErrorCode::kUnsupported,
                fmt::format("mpirun cannot call {}: the path holds a blank or a colon", input.program),
                "install slipway in a folder whose path has neither");
  ProcessSpec process{.rank = 0, .argv = {}, .log = kLog, .name = "mpirun"};
  process.argv = {"mpirun",
                  "--hostfile",
                  hosts,
                  "-np",
                  std::to_string(process_count(job)),
                  "--leave-session-attached",
                  "--bind-to",
                  "none",
                  "slipway",
                  "mpi-rank",
                  "--"};
  process.argv.insert(process.argv.end(), input.command.begin(), input.command.end());
  SLIPWAY_ASSIGN(process.environment[std::string(kMpiPeers)], peers_text(input.offers));
  process.environment["OMPI_MCA_plm_rsh_agent"] = fmt::format("{} mpi-start --", input.program);
  return process;
}

// OpenMPI tells nodes apart by their host names, for who shares memory with whom and for what that memory is
// called. Nodes of one machine have one name.
bool shares_machine(const LaunchInput& input) {
  const NodeOffer& own = input.offers[static_cast<size_t>(input.order.key.rank)];
  return std::ranges::count(input.offers, own.address, &NodeOffer::address) > 1;
}

Result<ProcessSpec> waiting_process(const LaunchInput& input) {
  const NodeOffer& own = input.offers[static_cast<size_t>(input.order.key.rank)];
  if (own.ports.empty())
    return fail(ErrorCode::kInvalidArgument, "this node holds no port for mpirun to reach it at");
  ProcessSpec process{
      .rank = 0, .argv = {input.program, "mpi-node"}, .log = kLog, .name = "OpenMPI's daemon"};
  process.environment[std::string(kMpiListen)] = fmt::format("{}:{}", own.address, own.ports.front());
  if (shares_machine(input)) process.environment[std::string(kMpiHost)] = host_name(input.order.key.rank);
  return process;
}

}  // namespace

Result<Launch> launch_mpi(const LaunchInput& input) {
  const AttemptOrder& order = input.order;
  const Job& job = order.job;
  const bool first = order.key.rank == 0;
  const std::filesystem::path folder = input.folder / "mpi";
  const std::string hosts = (folder / "hostfile").string();
  SLIPWAY_ASSIGN(ProcessSpec process, first ? mpirun_process(input, hosts) : waiting_process(input));
  process.environment[std::string(kMpiSecret)] = order.launch_secret.reveal();
  process.environment[std::string(kMpiFolder)] = folder.string();
  process.environment[std::string(kMpiWork)] = (input.folder / "work").string();

  Launch launch{.processes = {std::move(process)}};
  launch.end_rule = EndRule::kLeader;
  launch.files = {{hosts, host_file(job)}};
  for (const int rank : ranks_on_node(job, order.key.rank))
    launch.pipes.push_back(
        {.rank = rank, .path = (folder / std::to_string(rank)).string(), .log = log_of(job, rank)});
  launch.variables = {// Daemons are started by us alone, one by one, from the first node.
                      {"OMPI_MCA_plm", "rsh"},
                      {"OMPI_MCA_plm_rsh_no_tree_spawn", "1"},
                      {"OMPI_MCA_orte_tmpdir_base", folder.string()},
                      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                      {"HWLOC_PLUGINS_BLACKLIST", kHwlocLeftOut},
                      {"SLIPWAY_HOSTFILE", hosts}};
  if (!input.offers.empty()) {
    launch.variables["MASTER_ADDR"] = input.offers.front().address;
    if (!input.offers.front().ports.empty())
      launch.variables["MASTER_PORT"] = std::to_string(input.offers.front().ports.front());
  }
  return launch;
}

}  // namespace slipway::launch
