// Makes ready what an attempt needs on this node.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launch/spec.h"
#include "node/agent_attach.h"
#include "node/agent_signals.h"
#include "protocol/node.h"

namespace slipway::node {

class PreparationLog;
struct AttemptSite;

struct PreparedAttempt {
  launch::SupervisorSpec spec;
  std::vector<UniqueFd> ports;  // see agent_rendezvous.h
  UniqueFd mount_order;         // to be the supervisor's standard input; empty when nothing is mounted
};

// Prepares the environment, places the snapshot (not again for Standing::kNotStarted, whose work folder is
// whole), the models and the run's data, waits for the other nodes where the run has several processes, and
// gives the supervisor's order. What is done is said in `log`. Waits for its turn and for the server; ends
// early, with any error, when the attempt is interrupted or canceled.
Result<PreparedAttempt> prepare_attempt(const AttemptSite& site, const AttemptOrder& order,
                                        const std::filesystem::path& folder, Standing standing,
                                        AttemptSignals& signals, PreparationLog& log);

}  // namespace slipway::node
