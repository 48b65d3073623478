// What is to change about a service and its replicas, given what can be seen of them. Pure: the controller
// gathers the facts, stores what comes out of this in one transaction, and then carries it out.
//
// Invariants
//   1. A new version takes over only once as many of its replicas answer as the old one was to have; from
//      then on the old ones get no new request.
//   2. A replica's run is canceled only when it has no request under way, or has had long enough.
//   3. A version that never answered is given up after kLoadTries failures; one that has answered is started
//      again for ever, at growing intervals.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "services/service.h"

namespace slipway::services {

constexpr int kLoadTries = 2;
constexpr std::chrono::milliseconds kFirstPause{500};
constexpr std::chrono::seconds kLongestPause{60};
// A replica that answered for this long has not failed because of its model.
constexpr std::chrono::seconds kGoodLife{30};
constexpr std::chrono::seconds kDrainTime{60};

// A replica with what its run and the front door say about it.
struct ReplicaFacts {
  Replica replica;
  bool run_ended = false;
  bool silent = false;       // its node has not been heard from
  bool unreachable = false;  // the front door cannot connect
  std::string endpoint;      // once it answers
  std::string outcome;       // of a run that has ended: "exit code 3"
  std::string log;           // its last lines
  int under_way = 0;
  Monotonic draining_since{};
};

// How often replicas of a version have ended by themselves of late.
struct Pace {
  int failures = 0;
  Monotonic next_start{};
};

struct Facts {
  Service service;
  std::vector<Revision> revisions;
  std::vector<ReplicaFacts> replicas;  // those that have not ended
  std::map<int, Pace> paces;           // by revision
};

struct Happening {
  EventKind kind;
  std::string reason;
  std::string log = {};
};

struct Changes {
  std::vector<Happening> events;        // in order
  std::vector<Replica> replicas;        // as they are now
  std::vector<Revision> revisions;      // as they are now
  std::vector<int> start;               // a revision for each replica to start
  std::vector<Replica> cancel;          // whose runs are to end
  std::optional<Monotonic> look_again;  // when something is due by itself
  bool nothing_stored() const {
    return events.empty() && replicas.empty() && revisions.empty() && start.empty();
  }
};

// `facts.service.revision` and `facts.paces` are brought up to date as well; its state is the table's.
Changes advance(Facts& facts, Timestamp now, Monotonic moment);

Duration pause_after(int failures);

}  // namespace slipway::services
