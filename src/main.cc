// One executable, its roles as sub-commands: this says what each is and hands over to the command line.
#include "cli/cli.h"
#include "node/agent.h"
#include "node/allocation.h"
#include "node/mpi.h"
#include "node/supervisor.h"
#include "roles/model_server.h"
#include "roles/server.h"

namespace {

using namespace slipway;

Status run_agent(const std::filesystem::path& home, const NodeId& id) {
  node::AgentOptions options;
  options.home = home;
  options.node = id;
  return node::run_agent(options);
}

Status run_supervisor(const std::filesystem::path& attempt_folder) {
  return node::supervise(attempt_folder.string());
}

}  // namespace

int main(int argc, char** argv) {
  // mpirun starts these by the dozen: they go without the command line.
  if (const auto code = node::play_mpi_part({argv + 1, argv + argc})) return *code;
  const cli::Roles roles{.run_server = roles::run_server,
                         .run_agent = run_agent,
                         .run_allocation = node::run_allocation,
                         .run_supervisor = run_supervisor,
                         .run_model_server = roles::run_model_server,
                         .describe_routes = roles::describe_routes};
  return cli::run_cli(argc, argv, roles);
}
