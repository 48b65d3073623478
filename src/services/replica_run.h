// A replica is a run: what it is submitted as, and what can be seen of it.
#pragma once

#include <optional>
#include <string>

#include "base/secret.h"
#include "compute/node_registry.h"
#include "data/credentials.h"
#include "runs/log_store.h"
#include "runs/run.h"
#include "runs/submission.h"
#include "services/advance.h"
#include "store/database.h"

namespace slipway::services {

// What a replica of this version runs, without the replica's own number.
Job replica_job(const Service& service, const ReplicaSpec& spec);
// The submission of this very replica: repeated, it makes one run.
runs::Submission replica_submission(const Service& service, const Revision& revision, const Replica& replica);

// What its key is sealed for.
std::string key_purpose(const Service& service);

// Adds the replica's key to the order that its node gets; other runs' orders stay as they are.
Status complete_order(store::Reader& reader, const data::Seal& seal, const runs::Run& run,
                      AttemptOrder& order);

// The replica's facts but for those of the front door. `log` is read only of a run that has ended.
Result<ReplicaFacts> look_at(store::Reader& reader, const compute::NodeRegistry& nodes,
                             const runs::LogStore& logs, const Service& service, Replica replica);

}  // namespace slipway::services
