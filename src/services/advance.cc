#include "services/advance.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway::services {
namespace {

class Advance {
 public:
  Advance(Facts& facts, Timestamp now, Monotonic moment) : facts_(facts), now_(now), moment_(moment) {}

  Changes run() {
    for (ReplicaFacts& facts : facts_.replicas) observe(facts);
    if (facts_.service.deleted_at) {
      for (ReplicaFacts& facts : facts_.replicas) drain(facts);
    } else {
      load_new_version();
      keep_serving();
      let_others_go();
      judge_health();
    }
    end_drained();
    return std::move(changes_);
  }

 private:
  static bool is_live(const ReplicaFacts& facts) {
    return !facts.silent &&
           (facts.replica.state == ReplicaState::kStarting || facts.replica.state == ReplicaState::kReady);
  }
  int count(int revision, bool ready_only) const {
    return static_cast<int>(std::ranges::count_if(facts_.replicas, [&](const ReplicaFacts& facts) {
      return facts.replica.revision == revision && is_live(facts) &&
             (!ready_only || facts.replica.state == ReplicaState::kReady);
    }));
  }
  Revision* revision_in(RevisionState state) {
    const auto found = std::ranges::find(facts_.revisions, state, &Revision::state);
    return found == facts_.revisions.end() ? nullptr : &*found;
  }
  void due(Monotonic when) {
    if (!changes_.look_again || when < *changes_.look_again) changes_.look_again = when;
  }
  void change(const ReplicaFacts& facts) { changes_.replicas.push_back(facts.replica); }

  void observe(ReplicaFacts& facts) {
    Replica& replica = facts.replica;
    if (facts.run_ended) {
      const bool by_itself = replica.state != ReplicaState::kDraining;
      replica.state = ReplicaState::kEnded;
      replica.ended_at = now_;
      replica.reason = facts.outcome;
      change(facts);
      if (by_itself && !facts_.service.deleted_at) count_failure(facts);
    } else if (replica.state == ReplicaState::kStarting && !facts.endpoint.empty()) {
      replica.state = ReplicaState::kReady;
      replica.ready_at = now_;
      replica.endpoint = facts.endpoint;
      change(facts);
      if (replica.revision == facts_.service.revision)
        changes_.events.push_back({EventKind::kReady, fmt::format("replica {} answers", replica.number)});
    }
  }

  void count_failure(const ReplicaFacts& facts) {
    const Replica& replica = facts.replica;
    Pace& pace = facts_.paces[replica.revision];
    const bool lived =
        replica.ready_at && now_.micros - replica.ready_at->micros > Duration(kGoodLife).count();
    pace.failures = lived ? 1 : pace.failures + 1;
    pace.next_start = moment_ + pause_after(pace.failures);
    changes_.events.push_back({EventKind::kReplicaEnded,
                               fmt::format("replica {} of version {} ended by itself: {}", replica.number,
                                           replica.revision, facts.outcome),
                               facts.log});
    last_outcome_ = facts.outcome;
  }

  void load_new_version() {
    Revision* loading = revision_in(RevisionState::kLoading);
    if (loading == nullptr) return;
    const int number = loading->number;
    const int ready = count(number, true);
    const int needed = facts_.service.revision == 0 ? 1 : facts_.service.wanted;
    if (ready >= needed) return switch_to(*loading);
    const Pace& pace = facts_.paces[number];
    if (ready == 0 && pace.failures >= kLoadTries) return give_up(*loading);
    start_up_to(number, facts_.service.wanted);
  }

  void switch_to(Revision& fresh) {
    if (Revision* old = revision_in(RevisionState::kServing)) {
      old->state = RevisionState::kReplaced;
      changes_.revisions.push_back(*old);
    }
    fresh.state = RevisionState::kServing;
    changes_.revisions.push_back(fresh);
    facts_.service.revision = fresh.number;
    changes_.events.push_back({EventKind::kSwitched, fmt::format("version {} serves", fresh.number)});
  }

  void give_up(Revision& failed) {
    failed.state = RevisionState::kFailed;
    failed.reason = last_outcome_.empty() ? facts_.service.reason : last_outcome_;
    changes_.revisions.push_back(failed);
    std::string what = fmt::format("version {} does not come up: {}", failed.number, failed.reason);
    if (facts_.service.revision > 0)
      what += fmt::format("; version {} goes on serving", facts_.service.revision);
    changes_.events.push_back({EventKind::kUpdateFailed, std::move(what)});
  }

  void start_up_to(int revision, int wanted) {
    const int missing = wanted - count(revision, false);
    if (missing <= 0) return;
    const Pace& pace = facts_.paces[revision];
    if (pace.failures > 0 && moment_ < pace.next_start) return due(pace.next_start);
    // After a failure one replica at a time shows whether the next comes up.
    changes_.start.insert(changes_.start.end(), static_cast<size_t>(pace.failures > 0 ? 1 : missing),
                          revision);
  }

  void keep_serving() {
    const int serving = facts_.service.revision;
    if (serving == 0) return;
    start_up_to(serving, facts_.service.wanted);
    int surplus = count(serving, false) - facts_.service.wanted;
    while (surplus-- > 0) {
      ReplicaFacts* idlest = nullptr;
      for (ReplicaFacts& facts : facts_.replicas) {
        if (facts.replica.revision != serving || !is_live(facts)) continue;
        const auto cost = [](const ReplicaFacts& one) {
          return std::pair(one.replica.state == ReplicaState::kReady, one.under_way);
        };
        if (idlest == nullptr || cost(facts) <= cost(*idlest)) idlest = &facts;
      }
      if (idlest == nullptr) return;
      drain(*idlest);
    }
  }

  void let_others_go() {
    const Revision* loading = revision_in(RevisionState::kLoading);
    for (ReplicaFacts& facts : facts_.replicas) {
      const int revision = facts.replica.revision;
      const bool wanted =
          revision == facts_.service.revision || (loading != nullptr && revision == loading->number);
      if (!wanted) drain(facts);
      if (wanted && facts.silent && facts.unreachable) drain(facts);
    }
  }

  void drain(ReplicaFacts& facts) {
    if (facts.replica.state != ReplicaState::kStarting && facts.replica.state != ReplicaState::kReady) return;
    facts.replica.state = ReplicaState::kDraining;
    facts.draining_since = moment_;
    change(facts);
  }

  void end_drained() {
    for (const ReplicaFacts& facts : facts_.replicas) {
      if (facts.replica.state != ReplicaState::kDraining) continue;
      const Monotonic latest = facts.draining_since + kDrainTime;
      if (facts.under_way == 0 || moment_ >= latest)
        changes_.cancel.push_back(facts.replica);
      else
        due(std::min(latest, moment_ + std::chrono::milliseconds(100)));
    }
  }

  void judge_health() {
    const Service& service = facts_.service;
    if (service.state != ServiceState::kHealthy || service.revision == 0) return;
    const bool answers = std::ranges::any_of(facts_.replicas, [&](const ReplicaFacts& facts) {
      return facts.replica.revision == service.revision && facts.replica.state == ReplicaState::kReady &&
             !facts.unreachable;
    });
    if (answers) return;
    const Pace& pace = facts_.paces[service.revision];
    std::string reason = "no replica answers";
    if (!last_outcome_.empty()) reason = fmt::format("the last replica ended: {}", last_outcome_);
    if (pace.failures > 1)
      reason += fmt::format("; {} times in a row, the next try is after {}", pace.failures,
                            slipway::to_text(pause_after(pace.failures)));
    changes_.events.push_back({EventKind::kNoneReady, std::move(reason)});
  }

  Facts& facts_;
  const Timestamp now_;
  const Monotonic moment_;
  Changes changes_;
  std::string last_outcome_;
};

}  // namespace

Duration pause_after(int failures) {
  Duration pause = kFirstPause;
  for (int i = 1; i < failures && pause < kLongestPause; ++i) pause *= 2;
  return std::min<Duration>(pause, kLongestPause);
}

Changes advance(Facts& facts, Timestamp now, Monotonic moment) {
  return Advance(facts, now, moment).run();
}

}  // namespace slipway::services
