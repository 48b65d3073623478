// What an agent finds of its predecessor: the folders of attempts, and how each one stands.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "node/agent_config.h"
#include "protocol/node.h"

namespace slipway::node {

// How an attempt stands when the agent takes it up.
enum class Standing {
  kOrdered,     // the server wants it started; nothing is here yet but perhaps a journal of its preparation
  kNotStarted,  // the intention is written and no supervisor has begun: it may be started, if the server
                // still wants it
  kStarted,     // a supervisor has begun; whether it lives is asked of its lock, how it ended of its journal
};

struct FoundAttempt {
  AttemptKey key;
  Standing standing = Standing::kStarted;
};

// Looks through nodes/<node>/attempts. Removes what needs nothing more: folders the server has acknowledged
// the end of, and what a preparation placed that was cut off before the intention was written (no process can
// have come from it), all but a journal that has records. Call with the node's lock held.
Result<std::vector<FoundAttempt>> find_attempts(const NodePaths& paths);

// Reads "digits-x7k2mq9w.1.0" back; nullopt for other names.
std::optional<AttemptKey> attempt_key_from_name(std::string_view name);

}  // namespace slipway::node
