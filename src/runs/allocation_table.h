// What was asked of engines that find nodes by themselves. Every SQL statement about it is in
// allocation_table.cc.
#pragma once

#include <string>
#include <vector>

#include "compute/allocator.h"
#include "compute/cluster.h"
#include "store/database.h"

namespace slipway::runs {

struct StoredAllocation {
  compute::AllocationKey key;
  compute::ClusterKey cluster;
  std::string request;
  int nodes = 1;
};

// With the nodes that will come of it, of the given capacity until they say otherwise.
Status insert_allocation(store::Writer& writer, const StoredAllocation& allocation,
                         const NodeCapacity& capacity, Timestamp now);
// With its nodes and their tokens.
Status delete_allocation(store::Writer& writer, const StoredAllocation& allocation, Timestamp now);
Result<std::vector<StoredAllocation>> all_allocations(store::Reader& reader);

// Tokens for its nodes, by rank; earlier ones are dead.
Result<std::vector<Secret>> renew_node_tokens(store::Writer& writer, const WorkspaceName& workspace,
                                              const compute::AllocationRequest& request, Timestamp now);

}  // namespace slipway::runs
