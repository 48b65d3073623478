#include "compute/allocator.h"

#include <fmt/format.h>

namespace slipway::compute {

NodeId allocated_node(const std::string& request, int rank) {
  return NodeId(fmt::format("{}-{}", request, rank));
}

std::string request_of(const NodeId& node) {
  const size_t dash = node.str().rfind('-');
  return dash == std::string::npos ? "" : node.str().substr(0, dash);
}

json::object to_json(const AllocatorStatus& status) {
  json::object object{{"reachable", status.reachable},
                      {"version", status.version},
                      {"problem", status.problem},
                      {"next", status.next},
                      {"look_seconds", std::chrono::duration<double>(status.look_time).count()},
                      {"nodes", nullptr}};
  if (status.nodes)
    object["nodes"] = json::object{{"total", status.nodes->total},
                                   {"idle", status.nodes->idle},
                                   {"busy", status.nodes->busy},
                                   {"down", status.nodes->down},
                                   {"asleep", status.nodes->asleep},
                                   {"cpus", status.nodes->largest.cpus},
                                   {"memory_bytes", status.nodes->largest.memory_bytes},
                                   {"gpus", status.nodes->largest.gpus}};
  return object;
}

}  // namespace slipway::compute
