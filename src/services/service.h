// A service as the store holds it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "services/lifecycle.h"
#include "services/spec.h"

namespace slipway::services {

struct Service {
  int64_t seq = 0;
  WorkspaceName workspace;
  std::string name;  // of one service in the installation at a time: its address has no workspace in it
  std::string description;
  std::map<std::string, std::string> tags;
  Auth auth = Auth::kKey;
  Scaling scaling;
  int wanted = 1;  // replicas now, within the bounds
  ServiceState state = ServiceState::kTransitioning;
  std::string reason;
  int revision = 0;         // the one that serves; 0: none yet
  int last_revision = 0;    // the newest, whatever became of it
  uint16_t port = 0;        // its own; 0: none yet
  std::string primary_key;  // sealed
  std::string secondary_key;
  std::string created_by;
  Timestamp created_at;
  Timestamp changed_at;
  std::optional<Timestamp> deleted_at;
};

enum class RevisionState {
  kLoading,  // its replicas are being started beside those of the one that serves
  kServing,
  kReplaced,    // another one serves
  kFailed,      // it could not be loaded
  kSuperseded,  // a newer one came before it was loaded
};
std::string_view to_text(RevisionState state);  // "loading"
std::optional<RevisionState> revision_state_from_text(std::string_view text);

struct Revision {
  int64_t service = 0;
  int number = 1;
  ReplicaSpec spec;
  RevisionState state = RevisionState::kLoading;
  std::string reason;
  Timestamp created_at;
};

enum class ReplicaState {
  kStarting,  // its run has been, or is about to be, submitted
  kReady,     // it answers
  kDraining,  // gets no new request; its run is canceled once it has none
  kEnded,
};
std::string_view to_text(ReplicaState state);  // "ready"
std::optional<ReplicaState> replica_state_from_text(std::string_view text);

struct Replica {
  int64_t number = 0;  // over the whole installation
  int64_t service = 0;
  int revision = 1;
  std::optional<RunId> run;  // nullopt: not submitted yet
  ReplicaState state = ReplicaState::kStarting;
  std::string endpoint;  // "127.0.0.1:40123"
  std::string key;       // sealed: what it asks the front door for
  std::string reason;    // how it ended
  Timestamp created_at;
  std::optional<Timestamp> ready_at;
  std::optional<Timestamp> ended_at;
};

struct ServiceEvent {
  int64_t seq = 0;  // from 1 within the service
  Timestamp time;
  std::string kind;
  ServiceState state = ServiceState::kTransitioning;  // the state it led to
  std::string reason;
  std::string log;  // the last lines of a replica that ended by itself
};

json::object to_json(const ServiceEvent& event);
json::object to_json(const Revision& revision);

}  // namespace slipway::services
