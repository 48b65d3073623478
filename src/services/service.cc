#include "services/service.h"

namespace slipway::services {
namespace {

template <class State, size_t count>
std::optional<State> state_from_text(const State (&all)[count], std::string_view text) {
  for (const State state : all)
    if (to_text(state) == text) return state;
  return std::nullopt;
}

constexpr RevisionState kAllRevisionStates[] = {RevisionState::kLoading, RevisionState::kServing,
                                                RevisionState::kReplaced, RevisionState::kFailed,
                                                RevisionState::kSuperseded};
constexpr ReplicaState kAllReplicaStates[] = {ReplicaState::kStarting, ReplicaState::kReady,
                                              ReplicaState::kDraining, ReplicaState::kEnded};

}  // namespace

std::string_view to_text(RevisionState state) {
  switch (state) {
    case RevisionState::kLoading: return "loading";
    case RevisionState::kServing: return "serving";
    case RevisionState::kReplaced: return "replaced";
    case RevisionState::kFailed: return "failed";
    case RevisionState::kSuperseded: return "superseded";
  }
  return "";
}

std::optional<RevisionState> revision_state_from_text(std::string_view text) {
  return state_from_text(kAllRevisionStates, text);
}

std::string_view to_text(ReplicaState state) {
  switch (state) {
    case ReplicaState::kStarting: return "starting";
    case ReplicaState::kReady: return "ready";
    case ReplicaState::kDraining: return "draining";
    case ReplicaState::kEnded: return "ended";
  }
  return "";
}

std::optional<ReplicaState> replica_state_from_text(std::string_view text) {
  return state_from_text(kAllReplicaStates, text);
}

json::object to_json(const ServiceEvent& event) {
  json::object object{{"seq", event.seq},
                      {"time", to_iso8601(event.time)},
                      {"kind", event.kind},
                      {"state", to_text(event.state)},
                      {"reason", event.reason}};
  if (!event.log.empty()) object["log"] = event.log;
  return object;
}

json::object to_json(const Revision& revision) {
  json::object object = to_json(revision.spec);
  object["number"] = revision.number;
  object["state"] = to_text(revision.state);
  object["reason"] = revision.reason;
  object["created_at"] = to_iso8601(revision.created_at);
  return object;
}

}  // namespace slipway::services
