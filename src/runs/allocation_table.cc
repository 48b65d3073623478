#include "runs/allocation_table.h"

#include "access/token.h"
#include "compute/cluster_store.h"

namespace slipway::runs {

Status insert_allocation(store::Writer& writer, const StoredAllocation& allocation,
                         const NodeCapacity& capacity, Timestamp now) {
  SLIPWAY_TRY(
      writer.run("INSERT INTO allocations (run, attempt, workspace, cluster, request, nodes, created_at) "
                 "VALUES (?, ?, ?, ?, ?, ?, ?)",
                 {allocation.key.run, allocation.key.attempt, allocation.cluster.workspace,
                  allocation.cluster.name, allocation.request, allocation.nodes, now}));
  for (int rank = 0; rank < allocation.nodes; ++rank) {
    compute::NodeRecord node;
    node.id = compute::allocated_node(allocation.request, rank);
    node.cluster = allocation.cluster;
    node.capacity = capacity;
    node.created_at = now;
    SLIPWAY_TRY(compute::insert_node(writer, node));
  }
  return {};
}

Status delete_allocation(store::Writer& writer, const StoredAllocation& allocation, Timestamp now) {
  for (int rank = 0; rank < allocation.nodes; ++rank) {
    const NodeId node = compute::allocated_node(allocation.request, rank);
    SLIPWAY_TRY(access::revoke_tokens_of_node(writer, node, now));
    SLIPWAY_TRY(compute::delete_node(writer, node));
  }
  return writer.run("DELETE FROM allocations WHERE request = ?", {allocation.request});
}

Result<std::vector<StoredAllocation>> all_allocations(store::Reader& reader) {
  std::vector<StoredAllocation> found;
  SLIPWAY_TRY(reader.query(
      "SELECT run, attempt, workspace, cluster, request, nodes FROM allocations ORDER BY created_at", {},
      [&](const store::Row& row) {
        found.push_back({.key = {.run = row.id<RunId>(0), .attempt = static_cast<int>(row.integer(1))},
                         .cluster = {row.id<WorkspaceName>(2), row.id<ClusterName>(3)},
                         .request = std::string(row.text(4)),
                         .nodes = static_cast<int>(row.integer(5))});
      }));
  return found;
}

Result<std::vector<Secret>> renew_node_tokens(store::Writer& writer, const WorkspaceName& workspace,
                                              const compute::AllocationRequest& request, Timestamp now) {
  std::vector<Secret> tokens;
  for (int rank = 0; rank < request.nodes; ++rank) {
    const NodeId node = compute::allocated_node(request.id, rank);
    SLIPWAY_TRY(access::revoke_tokens_of_node(writer, node, now));
    SLIPWAY_ASSIGN(auto token, access::create_node_token(writer, node, workspace, now));
    tokens.push_back(std::move(token.text));
  }
  return tokens;
}

}  // namespace slipway::runs
