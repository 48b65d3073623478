#include "services/controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/failpoint.h"
#include "base/log.h"
#include "runs/run_table.h"
#include "services/keys.h"
#include "services/servable.h"
#include "services/service_table.h"

namespace slipway::services {
namespace {

constexpr std::chrono::seconds kLookAtAllEvery{5};
constexpr std::chrono::milliseconds kSampleEvery{250};

}  // namespace

std::string service_topic(int64_t service) {
  return fmt::format("service/{}", service);
}

void Controller::start(Doors doors) {
  doors_ = std::move(doors);
  thread_ = std::thread([this] { loop(); });
}

void Controller::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  tended_.clear();
}

Status Controller::let_all_go() {
  return parts_.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const auto services, all_services(writer));
    for (const Service& service : services) {
      SLIPWAY_ASSIGN(const auto replicas, list_replicas(writer, service.seq, false));
      for (Replica replica : replicas) {
        replica.state = ReplicaState::kDraining;
        SLIPWAY_TRY(update_replica(writer, replica));
      }
    }
    return {};
  });
}

void Controller::wake(int64_t service) {
  {
    const std::lock_guard lock(mutex_);
    dirty_.insert(service);
  }
  changed_.notify_all();
}

Status Controller::load() {
  std::vector<Service> services;
  SLIPWAY_TRY(parts_.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(services, all_services(reader));
    return {};
  }));
  for (const Service& service : services) {
    Tended& tended = tended_[service.seq];
    SLIPWAY_TRY(parts_.database.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(const Facts facts, gather(reader, service.seq, tended));
      return publish(facts, tended);
    }));
  }
  return {};
}

void Controller::loop() {
  Monotonic looked_at_all{};
  for (;;) {
    std::set<int64_t> dirty;
    Monotonic now = parts_.clock.monotonic();
    const bool everything = now - looked_at_all >= kLookAtAllEvery;
    if (everything) looked_at_all = now;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      dirty.swap(dirty_);
    }
    tend_all(dirty, everything);
    now = parts_.clock.monotonic();
    Monotonic until = looked_at_all + kLookAtAllEvery;
    for (const auto& [seq, tended] : tended_)
      if (tended.look_again) until = std::min(until, *tended.look_again);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock,
                      std::max<Duration>(Duration(0), std::chrono::duration_cast<Duration>(until - now)),
                      [this] { return stopping_ || !dirty_.empty(); });
  }
}

void Controller::tend_all(const std::set<int64_t>& dirty, bool everything) {
  std::set<int64_t> wanted = dirty;
  const Monotonic now = parts_.clock.monotonic();
  for (const auto& [seq, tended] : tended_)
    if (tended.look_again && *tended.look_again <= now) wanted.insert(seq);
  if (everything) {
    const Status read = parts_.database.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(const auto services, all_services(reader));
      for (const Service& service : services) wanted.insert(service.seq);
      return {};
    });
    if (!read) log_warning("services.read_failed", {{"error", read.error()}});
    if (const Status tidied = tidy(); !tidied)
      log_warning("services.tidy_failed", {{"error", tidied.error()}});
  }
  for (const int64_t seq : wanted) {
    Tended& tended = tended_[seq];
    tended.look_again.reset();
    const Status done = tend(seq, tended);
    if (done) continue;
    if (done.error().code == ErrorCode::kNotFound) {
      tended_.erase(seq);
      continue;
    }
    log_warning("services.tend_failed", {{"service", seq}, {"error", done.error()}});
    tended.look_again = now + std::chrono::seconds(1);
  }
}

Result<Facts> Controller::gather(store::Reader& reader, int64_t seq, const Tended& tended) const {
  Facts facts;
  SLIPWAY_ASSIGN(facts.service, load_service(reader, seq));
  SLIPWAY_ASSIGN(facts.revisions, list_revisions(reader, seq));
  SLIPWAY_ASSIGN(const auto replicas, list_replicas(reader, seq, false));
  for (const Replica& replica : replicas) {
    SLIPWAY_ASSIGN(ReplicaFacts seen, look_at(reader, parts_.nodes, parts_.logs, facts.service, replica));
    seen.under_way = parts_.door.under_way(replica.number);
    seen.unreachable = seen.unreachable || parts_.door.unreachable(replica.number);
    const auto since = tended.draining_since.find(replica.number);
    seen.draining_since = since == tended.draining_since.end() ? parts_.clock.monotonic() : since->second;
    facts.replicas.push_back(std::move(seen));
  }
  facts.paces = tended.paces;
  return facts;
}

// A look costs a read; only what it finds changed costs a write, in which it is looked at again.
Status Controller::tend(int64_t seq, Tended& tended) {
  const Monotonic moment = parts_.clock.monotonic();
  Facts facts;
  SLIPWAY_TRY(parts_.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(facts, gather(reader, seq, tended));
    return {};
  }));
  Changes changes = advance(facts, parts_.clock.now(), moment);
  if (!changes.nothing_stored()) {
    SLIPWAY_TRY(parts_.database.write([&](store::Writer& writer) -> Status {
      SLIPWAY_ASSIGN(facts, gather(writer, seq, tended));
      changes = advance(facts, parts_.clock.now(), moment);
      return store_changes(writer, facts, changes);
    }));
    SLIPWAY_FAILPOINT("services.after_commit");
  }
  tended.paces = facts.paces;
  for (const ReplicaFacts& replica : facts.replicas)
    if (replica.replica.state == ReplicaState::kDraining)
      tended.draining_since.try_emplace(replica.replica.number, replica.draining_since);
    else
      tended.draining_since.erase(replica.replica.number);
  // The door first: what is drained must get no new request before its run is told to end.
  SLIPWAY_TRY(publish(facts, tended));
  SLIPWAY_TRY(open_door(facts.service, tended));
  SLIPWAY_TRY(submit_missing(facts));
  for (const Replica& replica : changes.cancel)
    if (parts_.door.under_way(replica.number) == 0 ||
        moment - tended.draining_since[replica.number] >= kDrainTime)
      SLIPWAY_TRY(end_run(facts, replica));
  watch(facts, tended);
  tended.look_again = changes.look_again;
  parts_.notifier.notify(service_topic(seq));  // for those who follow its logs
  return scale(facts, tended);
}

Status Controller::store_changes(store::Writer& writer, Facts& facts, const Changes& changes) const {
  const Timestamp now = parts_.clock.now();
  Service& service = facts.service;
  for (const Replica& replica : changes.replicas) SLIPWAY_TRY(update_replica(writer, replica));
  for (const Revision& revision : changes.revisions) SLIPWAY_TRY(update_revision(writer, revision));
  if (!changes.revisions.empty()) SLIPWAY_TRY(hold_models(writer, service, facts.revisions, now));
  for (const int revision : changes.start) {
    Replica replica;
    replica.service = service.seq;
    replica.revision = revision;
    replica.created_at = now;
    SLIPWAY_ASSIGN(replica.key, parts_.seal.close(new_key(), key_purpose(service)));
    SLIPWAY_TRY(insert_replica(writer, replica));
    facts.replicas.emplace_back().replica = std::move(replica);
  }
  for (const Happening& event : changes.events)
    SLIPWAY_TRY(record(writer, service, event.kind, event.reason, now, event.log));
  writer.after_commit([this, seq = service.seq] { parts_.notifier.notify(service_topic(seq)); });
  return {};
}

Status Controller::submit_missing(const Facts& facts) {
  for (const ReplicaFacts& seen : facts.replicas) {
    Replica replica = seen.replica;
    if (replica.run || replica.state != ReplicaState::kStarting) continue;
    const auto revision = std::ranges::find(facts.revisions, replica.revision, &Revision::number);
    if (revision == facts.revisions.end()) continue;
    auto submitted = parts_.submissions.submit(replica_submission(facts.service, *revision, replica));
    SLIPWAY_FAILPOINT("services.after_submit");
    if (!submitted && submitted.error().code == ErrorCode::kUnavailable) return fail(submitted.error());
    SLIPWAY_TRY(parts_.database.write([&](store::Writer& writer) -> Status {
      SLIPWAY_ASSIGN(const auto current, find_replica(writer, replica.number));
      if (!current) return {};
      replica = *current;
      if (submitted) {
        replica.run = submitted->run.id;
        return update_replica(writer, replica);
      }
      // What cannot be submitted counts as a replica that has failed.
      replica.state = ReplicaState::kEnded;
      replica.ended_at = parts_.clock.now();
      replica.reason = submitted.error().message;
      return update_replica(writer, replica);
    }));
    if (submitted) continue;
    const Status told = parts_.database.write([&](store::Writer& writer) -> Status {
      SLIPWAY_ASSIGN(Service service, load_service(writer, facts.service.seq));
      return record(writer, service, EventKind::kReplicaEnded, replica.reason, parts_.clock.now());
    });
    if (!told) return told;
    Tended& tended = tended_[facts.service.seq];
    Pace& pace = tended.paces[replica.revision];
    pace.next_start = parts_.clock.monotonic() + pause_after(++pace.failures);
    wake(facts.service.seq);
  }
  return {};
}

Status Controller::end_run(const Facts& facts, const Replica& replica) {
  if (!replica.run) return {};
  return parts_.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(runs::Run run, runs::load_run(writer, *replica.run));
    if (runs::is_final(run.state) || run.state == runs::RunState::kCancelRequested) return {};
    const std::string reason = facts.service.deleted_at ? "its service was deleted"
                               : replica.revision == facts.service.revision
                                   ? "the service needs fewer replicas"
                                   : fmt::format("version {} serves", facts.service.revision);
    return parts_.orchestrator.transitions().cancel(writer, run, reason);
  });
}

void Controller::watch(const Facts& facts, Tended& tended) {
  std::set<int64_t> live;
  for (const ReplicaFacts& seen : facts.replicas) {
    const Replica& replica = seen.replica;
    if (replica.state == ReplicaState::kEnded) continue;
    live.insert(replica.number);
    if (tended.watched.contains(replica.number)) continue;
    std::optional<RunId> run = replica.run;
    if (!run)  // submitted just now
      (void)parts_.database.read([&](store::Reader& reader) -> Status {
        SLIPWAY_ASSIGN(const auto current, find_replica(reader, replica.number));
        if (current) run = current->run;
        return {};
      });
    if (!run) continue;
    tended.watched.emplace(
        replica.number,
        parts_.notifier.subscribe(runs::run_topic(*run), [this, seq = facts.service.seq] { wake(seq); }));
    wake(facts.service.seq);  // for what happened before it was watched
  }
  std::erase_if(tended.watched, [&](const auto& watched) { return !live.contains(watched.first); });
}

Status Controller::scale(Facts& facts, Tended& tended) {
  Service& service = facts.service;
  if (service.deleted_at || service.revision == 0 || service.scaling.min == service.scaling.max) return {};
  const Monotonic now = parts_.clock.monotonic();
  const Traffic traffic = parts_.door.traffic(service.name);
  const int wanted = tended.autoscaler.decide(service.scaling, service.wanted, traffic.under_way, now);
  tended.look_again = std::min(tended.look_again.value_or(now + kSampleEvery), now + kSampleEvery);
  if (wanted == service.wanted) return {};
  SLIPWAY_TRY(parts_.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(service, load_service(writer, service.seq));
    const std::string reason = fmt::format("{} replicas instead of {}: {:.1f} requests under way", wanted,
                                           service.wanted, tended.autoscaler.average());
    service.wanted = std::clamp(wanted, service.scaling.min, service.scaling.max);
    return record(writer, service, EventKind::kScaled, reason, parts_.clock.now());
  }));
  tended.look_again = now;
  return {};
}

}  // namespace slipway::services
