#include "runs/state.h"

#include <strings.h>

#include <string>

namespace slipway::runs {

std::string_view to_text(RunState state) {
  switch (state) {
    case RunState::kNotStarted: return "NotStarted";
    case RunState::kQueued: return "Queued";
    case RunState::kPreparing: return "Preparing";
    case RunState::kStarting: return "Starting";
    case RunState::kRunning: return "Running";
    case RunState::kFinalizing: return "Finalizing";
    case RunState::kCompleted: return "Completed";
    case RunState::kFailed: return "Failed";
    case RunState::kCancelRequested: return "CancelRequested";
    case RunState::kCanceled: return "Canceled";
    case RunState::kNotResponding: return "NotResponding";
  }
  return "";
}

std::optional<RunState> run_state_from_text(std::string_view text) {
  for (const RunState state : kAllRunStates) {
    const std::string_view name = to_text(state);
    if (name.size() == text.size() && ::strncasecmp(name.data(), text.data(), name.size()) == 0) return state;
  }
  return std::nullopt;
}

bool is_final(RunState state) {
  return state == RunState::kCompleted || state == RunState::kFailed || state == RunState::kCanceled;
}

bool holds_nodes(RunState state) {
  return !is_final(state) && state != RunState::kNotStarted && state != RunState::kQueued;
}

std::string_view phase_of(RunState state) {
  switch (state) {
    case RunState::kNotStarted:
    case RunState::kPreparing:
    case RunState::kStarting: return "preparing";
    case RunState::kQueued: return "scaling";
    case RunState::kRunning:
    case RunState::kCancelRequested:
    case RunState::kNotResponding: return "running";
    case RunState::kFinalizing: return "post-processing";
    case RunState::kCompleted:
    case RunState::kFailed:
    case RunState::kCanceled: return "done";
  }
  return "";
}

}  // namespace slipway::runs
