// The half of Attempts that lets the nodes of an attempt wait for each other.
//
// 1. Nobody is answered with offers before all nodes of the attempt have made theirs: all start, or none.
// 2. Once all have, the offers stand: a node that comes again, having been restarted, is told what it had
//    offered. Before that its newest offer counts.
// 3. All of it is in the store: a server that is killed meanwhile goes on where it was when the agents repeat
//    themselves.
#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "runs/attempts.h"
#include "runs/run_table.h"

namespace slipway::runs {
namespace {

struct StoredOffer {
  NodeOffer offer;
  Timestamp at;
};

Result<std::map<int, StoredOffer>> load_offers(store::Reader& reader, const AttemptKey& key) {
  std::map<int, StoredOffer> offers;
  Status read;
  SLIPWAY_TRY(reader.query(
      "SELECT offer, offered_at FROM attempt_nodes WHERE run = ? AND attempt = ? AND offer IS NOT NULL",
      {key.run, key.attempt}, [&](const store::Row& row) {
        const auto object = parse_json_object(row.text(0), "a stored offer");
        auto offer = object ? node_offer_from_json(*object) : Result<NodeOffer>(fail(object.error()));
        if (!offer) {
          read = fail(std::move(offer).error());
          return;
        }
        const int rank = offer->rank;
        offers[rank] = {.offer = std::move(*offer), .at = Timestamp{row.integer(1)}};
      }));
  SLIPWAY_TRY(std::move(read));
  return offers;
}

std::string_view whereabouts(PartState state) {
  return state == PartState::kOrdered ? "has not taken it up" : "is still preparing";
}

// "rank 1 on gpu-7x2m is still preparing, ..."
std::string who_is_missing(const std::vector<Part>& parts, const std::map<int, StoredOffer>& offers) {
  constexpr size_t kMostNamed = 8;
  std::vector<std::string> names;
  size_t missing = 0;
  for (const Part& part : parts) {
    if (offers.contains(part.key.rank) || ++missing > kMostNamed) continue;
    names.push_back(fmt::format("rank {} on {} {}", part.key.rank, part.node, whereabouts(part.state)));
  }
  if (missing > kMostNamed) names.push_back(fmt::format("and {} more", missing - kMostNamed));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool ends_with_first_node(const Job& job) {
  return job.launcher.kind == LauncherKind::kMpi || job.launcher.kind == LauncherKind::kTensorFlow;
}

Result<Rendezvous> Attempts::take_offer(const NodeId& node, const AttemptKey& key, const NodeOffer& offer) {
  if (offer.rank != key.rank)
    return fail(ErrorCode::kInvalidArgument, "the offer names the rank of another node");
  Rendezvous answer;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    answer = {};
    SLIPWAY_TRY(load_open_part(writer, node, key));
    SLIPWAY_ASSIGN(const auto parts, parts_of_attempt(writer, key.run, key.attempt));
    SLIPWAY_ASSIGN(auto offers, load_offers(writer, key));
    if (offers.size() < parts.size()) {
      const auto known = offers.find(key.rank);
      const Timestamp at = known == offers.end() ? clock_.now() : known->second.at;
      if (known == offers.end() || known->second.offer != offer)
        SLIPWAY_TRY(writer.run(
            "UPDATE attempt_nodes SET offer = ?, offered_at = ? WHERE run = ? AND attempt = ? AND rank = ?",
            {json::serialize(to_json(offer)), at, key.run, key.attempt, key.rank}));
      offers[key.rank] = {.offer = offer, .at = at};
      if (offers.size() == parts.size()) SLIPWAY_TRY(all_have_come(writer, parts));
    }
    for (const Part& part : parts)
      if (!offers.contains(part.key.rank)) answer.missing.push_back(part.key.rank);
    if (answer.missing.empty())
      for (auto& [rank, stored] : offers) answer.offers.push_back(std::move(stored.offer));
    if (answer.missing.empty()) return {};
    const auto first =
        std::ranges::min_element(offers, {}, [](const auto& entry) { return entry.second.at.micros; });
    if (clock_.now().micros - first->second.at.micros < orchestrator_.times().rendezvous.count()) return {};
    SLIPWAY_ASSIGN(Run run, load_run(writer, key.run));
    auto verdict = orchestrator_.transitions().apply(
        writer, run,
        {.kind = EventKind::kPreparationFailed,
         .reason = fmt::format(
             "{} of {} nodes did not come to the start within {}: {}", answer.missing.size(), parts.size(),
             slipway::to_text(orchestrator_.times().rendezvous), who_is_missing(parts, offers)),
         .outcome = Outcome::kFailure});
    if (!verdict) return fail(std::move(verdict).error());
    return {};
  }));
  return answer;
}

// The first node that claims makes it; it lies sealed in the row of rank 0 until the run is deleted, and is
// of use to nobody once the attempt is over.
Result<Secret> Attempts::launch_secret(store::Writer& writer, const Run& run) {
  if (run.job.launcher.kind != LauncherKind::kMpi || run.job.nodes == 1) return Secret();
  const std::string about = fmt::format("launch secret of {}.{}", run.id, run.attempt);
  std::string sealed;
  SLIPWAY_TRY(
      writer.query("SELECT launch_secret FROM attempt_nodes WHERE run = ? AND attempt = ? AND rank = 0 AND "
                   "launch_secret IS "
                   "NOT NULL",
                   {run.id, run.attempt}, [&](const store::Row& row) { sealed = row.text(0); }));
  if (!sealed.empty()) return seal_.open(sealed, about);
  Secret secret(random_base32(52));
  SLIPWAY_ASSIGN(sealed, seal_.close(secret, about));
  SLIPWAY_TRY(
      writer.run("UPDATE attempt_nodes SET launch_secret = ? WHERE run = ? AND attempt = ? AND rank = 0",
                 {sealed, run.id, run.attempt}));
  return secret;
}

// The agents wait for the word; should it be lost, they ask again by themselves.
Status Attempts::all_have_come(store::Writer& writer, const std::vector<Part>& parts) {
  const AttemptKey& key = parts.front().key;
  SLIPWAY_TRY(writer.run("UPDATE attempt_nodes SET gathered = 1 WHERE run = ? AND attempt = ?",
                         {key.run, key.attempt}));
  for (const Part& part : parts)
    writer.after_commit([this, topic = node_topic(part.node)] { orchestrator_.notify(topic); });
  return {};
}

}  // namespace slipway::runs
