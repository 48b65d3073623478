// Makes ready what an attempt needs on this node, and clears it away.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "launch/spec.h"
#include "node/agent_attach.h"
#include "node/agent_signals.h"
#include "protocol/node.h"

namespace slipway::node {

struct AttemptSite;

// The attempt's folder with journal/ and work/ and the folders a job finds there: ./outputs, ./logs.
Status make_attempt_folders(const std::filesystem::path& folder);

// Prepares the environment and places the snapshot (not again for Standing::kNotStarted, whose work folder is
// whole), and gives the supervisor's order. Waits for its turn and for the server; ends early, with any
// error, when the attempt is interrupted or canceled.
Result<launch::SupervisorSpec> prepare_attempt(const AttemptSite& site, const AttemptOrder& order,
                                               const std::filesystem::path& folder, Standing standing,
                                               AttemptSignals& signals);

// Marks the attempt as finished, so that what cannot be removed now is removed by the next agent, and removes
// the folder.
void remove_attempt_folder(const std::filesystem::path& folder, const std::string& name);

}  // namespace slipway::node
