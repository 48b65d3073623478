#include "compute/engines/local/local_engine.h"

#include <set>

#include "base/file.h"
#include "compute/engines/local/agent_watch.h"

namespace slipway::compute {

LocalEngine::LocalEngine(LocalEngineOptions options, NodeEventSink sink)
    : home_(options.home), watch_(std::make_unique<AgentWatch>(std::move(options), std::move(sink))) {}

LocalEngine::~LocalEngine() = default;

Status LocalEngine::recover(const std::vector<NodeOrder>& wanted) {
  SLIPWAY_TRY(make_folders(home_ / "nodes"));
  std::set<NodeId> known;
  for (const NodeOrder& order : wanted) {
    known.insert(order.node);
    watch_->take_up(order);
  }
  for (const NodeId& node : node_folders(home_))
    if (!known.contains(node)) watch_->discard(node);
  return {};
}

Status LocalEngine::start_node(const NodeOrder& order) {
  return watch_->start(order);
}

Status LocalEngine::stop_node(const NodeId& node) {
  watch_->stop(node);
  return {};
}

std::vector<EngineNode> LocalEngine::nodes() {
  return watch_->list();
}

Status LocalEngine::stop_agents(Duration within) {
  return watch_->halt(within);
}

}  // namespace slipway::compute
