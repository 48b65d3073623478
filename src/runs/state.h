// The states a run passes through, as its users know them.
#pragma once

#include <optional>
#include <string_view>

namespace slipway::runs {

enum class RunState {
  kNotStarted,  // accepted, not yet in a queue
  kQueued,      // waits for nodes
  kPreparing,   // has its nodes; code and environment are being placed
  kStarting,    // its processes are being started
  kRunning,
  kFinalizing,  // its processes have ended; outputs are being kept
  kCompleted,
  kFailed,
  kCancelRequested,  // its processes have been told to end
  kCanceled,
  kNotResponding,  // its node has been silent; the processes may be alive
};

inline constexpr RunState kAllRunStates[] = {
    RunState::kNotStarted,      RunState::kQueued,     RunState::kPreparing,     RunState::kStarting,
    RunState::kRunning,         RunState::kFinalizing, RunState::kCompleted,     RunState::kFailed,
    RunState::kCancelRequested, RunState::kCanceled,   RunState::kNotResponding,
};

std::string_view to_text(RunState state);                            // "NotStarted"
std::optional<RunState> run_state_from_text(std::string_view text);  // upper and lower case alike

// Whether the state never changes again.
bool is_final(RunState state);
// Whether the run holds nodes.
bool holds_nodes(RunState state);
// What people see: "preparing", "scaling", "running", "post-processing" or "done".
std::string_view phase_of(RunState state);

}  // namespace slipway::runs
