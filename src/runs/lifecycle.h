// The life of a run as one pure transition table.
//
// Invariants
//   1. `decide` looks at nothing but its arguments: the same run and event always give the same decision.
//   2. A final state has no row: it never changes.
//   3. Whatever has to be done outside follows from the Effects of the row, which are stored with the new
//   state in one
//      transaction (transitions.cc) and carried out afterwards, as often as needed.
// The diagram in docs/run-states.md is printed from the same table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "runs/state.h"

namespace slipway::runs {

enum class EventKind {
  kAccepted,           // the submission is stored
  kPlaced,             // the scheduler has found its nodes
  kPrepared,           // code and environment are on the nodes
  kStarted,            // the first process runs
  kRankFailed,         // one node's process ended badly while others go on
  kLeaderDone,         // the node that decides ended well while others go on
  kExited,             // the processes of all its nodes have ended
  kFinished,           // outputs are kept on all its nodes
  kPreparationFailed,  // a node could not prepare or start it
  kCancelAsked,        // a user wants it to end
  kSilent,             // no heartbeat for the silence limit
  kHeardAgain,         // the node is back
  kNodeLost,           // the node was silent for the whole grace, or no longer has the run
  kPreemptionAsked,    // a run of a higher rank needs its nodes
  kPreempted,          // its nodes were given to others; it waits again
  kEndedOutside,       // the engine ended it for good: its time was up, or it can never be had
  kCanceledOutside,    // somebody canceled it in the engine
  kOpened,             // a client has begun an interactive run
  kClosed,             // the client says that it is done
  kGivenUp,            // the client says that it failed
};

inline constexpr EventKind kAllEventKinds[] = {
    EventKind::kAccepted,     EventKind::kPlaced,          EventKind::kPrepared,
    EventKind::kStarted,      EventKind::kRankFailed,      EventKind::kLeaderDone,
    EventKind::kExited,       EventKind::kFinished,        EventKind::kPreparationFailed,
    EventKind::kCancelAsked,  EventKind::kSilent,          EventKind::kHeardAgain,
    EventKind::kNodeLost,     EventKind::kPreemptionAsked, EventKind::kPreempted,
    EventKind::kEndedOutside, EventKind::kCanceledOutside, EventKind::kOpened,
    EventKind::kClosed,       EventKind::kGivenUp,
};

std::string_view to_text(EventKind kind);  // "accepted", as stored and shown

enum class Outcome {
  kSuccess,
  kFailure,
  kStopped,  // told to end, and ended
};

struct Event {
  EventKind kind = EventKind::kAccepted;
  std::string reason;                   // a sentence for the time line; may be empty
  Outcome outcome = Outcome::kSuccess;  // for kFinished: how the processes ended
  RunId by = {};                        // for kPreemptionAsked: the run that needs its nodes
};

// What a transition asks for, besides the new state.
enum Effects : uint8_t {
  kNoEffect = 0,
  kCancelAttempt = 1,  // tell the nodes to end the processes
  kFenceAttempt = 2,   // this attempt is over: its nodes are free, its messages are stale, its token is dead
  kEnqueue = 4,        // it waits for nodes (again)
};
constexpr Effects operator|(Effects a, Effects b) {
  return static_cast<Effects>(uint8_t{a} | uint8_t{b});
}

// What a decision depends on.
struct RunFacts {
  RunState state = RunState::kNotStarted;
  RunState resume_state = RunState::kRunning;  // where a run that does not respond goes back to
  int attempt = 0;
  int max_attempts = 1;
  int preemptions = 0;       // attempts that ended by giving way: they use up none of those it has
  bool gives_way = false;    // was asked to
  bool interactive = false;  // no node carries it out
};

enum class Verdict {
  kMove,    // to `next`
  kStay,    // recorded, the state is the same
  kIgnore,  // late or repeated: nothing is recorded
  kRefuse,  // a user asked for what cannot be
};

struct Decision {
  Verdict verdict = Verdict::kIgnore;
  RunState next = RunState::kNotStarted;
  Effects effects = kNoEffect;
  std::string reason;  // for the time line, or why it is refused
};

Decision decide(const RunFacts& run, const Event& event);

// One row of the table.
enum class Guard {
  kAlways,
  kSucceeded,
  kDidNotSucceed,
  kGaveWay,
  kAttemptsLeft,
  kNoAttemptLeft,
  kOnNodes,
  kInteractive
};
struct Rule {
  RunState from;
  EventKind event;
  Guard guard;
  std::optional<RunState> to;  // nullopt: back to the resume state
  Effects effects;
};
std::span<const Rule> transition_table();

// The table as a Mermaid state diagram.
std::string state_diagram();

}  // namespace slipway::runs
