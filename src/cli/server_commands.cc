#include <memory>

#include "cli/context.h"

namespace slipway::cli {
namespace {

Result<int> run_agent(Context& context, const std::string& node) {
  SLIPWAY_ASSIGN(const NodeId id, parse_name<NodeId>(node, "node", 128));
  SLIPWAY_TRY(context.roles.run_agent(context.home(), id));
  return 0;
}

}  // namespace

void add_server_commands(Command root, Context& context) {
  auto node = std::make_shared<std::string>();
  Command agent = root.command("agent", "Be a node: started by the server, one for each node",
                               "slipway agent --node local-3f9a");
  agent.hide();
  agent.option("--node", *node, "NODE", "the node's id");
  agent.action([node, &context] { return run_agent(context, *node); });

  auto folder = std::make_shared<std::string>();
  Command supervise =
      root.command("supervise", "Watch over one attempt: started by the agent", "slipway supervise DIR");
  supervise.hide();
  supervise.positional("DIR", *folder, "the attempt's folder", Completes::kFolder);
  supervise.action([folder, &context]() -> Result<int> {
    SLIPWAY_TRY(context.roles.run_supervisor(*folder));
    return 0;
  });
}

}  // namespace slipway::cli
