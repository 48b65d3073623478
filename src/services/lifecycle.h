// The life of a service as one pure transition table, like a run's (runs/lifecycle.h).
//
// Invariants
//   1. `decide` looks at nothing but its arguments.
//   2. A service is Healthy exactly while at least one replica of the version that serves is ready.
//   3. An update changes the state only when there is nothing to fall back on: a version that fails to load
//      beside one that serves is told on the time line and leaves the state as it is.
// The diagram in docs/services.md is printed from the same table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "services/state.h"

namespace slipway::services {

enum class EventKind {
  kDeployed,      // a user has created the service
  kUpdated,       // a user wants another version, or the same one served otherwise
  kReady,         // a replica of the version that serves answers
  kSwitched,      // new requests go to the new version
  kUpdateFailed,  // the new version cannot be loaded
  kReplicaEnded,  // one ended by itself
  kNoneReady,     // the last one that answered is gone
  kScaled,        // the number of replicas has changed
  kChanged,       // keys, bounds, tags: what needs no new replica
  kDeleted,
};

inline constexpr EventKind kAllEventKinds[] = {
    EventKind::kDeployed,     EventKind::kUpdated,      EventKind::kReady,     EventKind::kSwitched,
    EventKind::kUpdateFailed, EventKind::kReplicaEnded, EventKind::kNoneReady, EventKind::kScaled,
    EventKind::kChanged,      EventKind::kDeleted};

std::string_view to_text(EventKind kind);  // "update-failed", as stored and shown

// The state the event leads to; events that no row takes leave it as it is.
ServiceState decide(ServiceState state, EventKind event);

struct Rule {
  ServiceState from;
  EventKind event;
  ServiceState to;
};
std::span<const Rule> transition_table();

// The table as a Mermaid state diagram.
std::string state_diagram();

}  // namespace slipway::services
