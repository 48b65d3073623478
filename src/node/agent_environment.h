// The environment side of an attempt's preparation: the order's definition, the home's build store, and the
// server, which settles locks and keeps what a run ran with.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/result.h"
#include "environments/prepared.h"
#include "launch/spec.h"
#include "node/agent_preparation.h"
#include "node/agent_signals.h"
#include "protocol/node.h"

namespace slipway::node {

struct AttemptSite;

struct AttemptEnvironment {
  environments::PreparedEnvironment prepared;
  std::vector<launch::Overlay> overlays;  // what keeps the job from changing files it shares with others
  std::optional<launch::Root> root;       // of an image
};

// Waits for builds and for the server; ends early, with any error, when the attempt is interrupted or
// canceled. `folder`: the attempt's.
Result<AttemptEnvironment> prepare_environment(const AttemptSite& site, const AttemptOrder& order,
                                               const std::filesystem::path& folder, AttemptSignals& signals,
                                               PreparationLog& log);

}  // namespace slipway::node
