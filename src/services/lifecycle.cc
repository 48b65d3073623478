#include "services/lifecycle.h"

#include <fmt/format.h>

#include <array>

namespace slipway::services {
namespace {

using enum ServiceState;
using enum EventKind;

constexpr std::array kTable{
    Rule{kTransitioning, kReady, kHealthy},       Rule{kTransitioning, kSwitched, kHealthy},
    Rule{kTransitioning, kUpdateFailed, kFailed},

    Rule{kHealthy, kNoneReady, kUnhealthy},

    Rule{kUnhealthy, kReady, kHealthy},           Rule{kUnhealthy, kSwitched, kHealthy},

    Rule{kFailed, kUpdated, kTransitioning},
};

}  // namespace

std::string_view to_text(ServiceState state) {
  switch (state) {
    case kTransitioning: return "Transitioning";
    case kHealthy: return "Healthy";
    case kUnhealthy: return "Unhealthy";
    case kFailed: return "Failed";
  }
  return "";
}

std::optional<ServiceState> service_state_from_text(std::string_view text) {
  for (const ServiceState state : kAllServiceStates)
    if (to_text(state) == text) return state;
  return std::nullopt;
}

std::string_view to_text(EventKind kind) {
  switch (kind) {
    case kDeployed: return "deployed";
    case kUpdated: return "updated";
    case kReady: return "ready";
    case kSwitched: return "switched";
    case kUpdateFailed: return "update-failed";
    case kReplicaEnded: return "replica-ended";
    case kNoneReady: return "none-ready";
    case kScaled: return "scaled";
    case kChanged: return "changed";
    case kDeleted: return "deleted";
  }
  return "";
}

ServiceState decide(ServiceState state, EventKind event) {
  for (const Rule& rule : kTable)
    if (rule.from == state && rule.event == event) return rule.to;
  return state;
}

std::span<const Rule> transition_table() {
  return kTable;
}

std::string state_diagram() {
  std::string text = "stateDiagram-v2\n  [*] --> Transitioning : deployed\n";
  for (const Rule& rule : kTable)
    text += fmt::format("  {} --> {} : {}\n", to_text(rule.from), to_text(rule.to), to_text(rule.event));
  for (const ServiceState state : kAllServiceStates)
    text += fmt::format("  {} --> [*] : deleted\n", to_text(state));
  return text;
}

}  // namespace slipway::services
