// The half of Controller that faces outwards: what the front door knows, the services' own ports, and what is
// kept of replicas that have ended.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <charconv>
#include <ranges>

#include "base/log.h"
#include "runs/deletion.h"
#include "runs/run_table.h"
#include "services/controller.h"
#include "services/service_table.h"

namespace slipway::services {
namespace {

constexpr std::chrono::seconds kTidyEvery{60};
constexpr size_t kEndedKept = 10;  // of a service: their logs can be read
constexpr Duration kEndedKeptFor = std::chrono::hours(24 * 7);
constexpr Duration kDeletedKeptFor = std::chrono::hours(1);

std::string why_none(const Service& service) {
  switch (service.state) {
    case ServiceState::kTransitioning: return fmt::format("service '{}' is being started", service.name);
    case ServiceState::kFailed: return fmt::format("service '{}' could not be started", service.name);
    default:
      return fmt::format("no replica of service '{}' answers now; they are started again", service.name);
  }
}

// An IP address stays as it is; a host's name becomes its first address.
std::string address_of(const std::string& host) {
  in6_addr any{};
  if (::inet_pton(AF_INET, host.c_str(), &any) == 1 || ::inet_pton(AF_INET6, host.c_str(), &any) == 1)
    return host;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return "";
  char text[NI_MAXHOST] = "";
  ::getnameinfo(list->ai_addr, list->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  ::freeaddrinfo(list);
  return text;
}

Place place_of(const Replica& replica, Secret key) {
  Place place{.replica = replica.number, .host = {}, .port = 0, .key = std::move(key)};
  const size_t colon = replica.endpoint.rfind(':');
  if (colon == std::string::npos) return place;
  place.host = address_of(replica.endpoint.substr(0, colon));
  const char* digits = replica.endpoint.data() + colon + 1;
  std::from_chars(digits, replica.endpoint.data() + replica.endpoint.size(), place.port);
  return place;
}

}  // namespace

Status Controller::publish(const Facts& facts, Tended& tended) {
  const Service& service = facts.service;
  if (service.deleted_at) {
    // Another service may have the name by now: what this one put there is taken away once.
    if (!std::exchange(tended.published, "").empty()) parts_.door.remove(service.name);
    if (std::exchange(tended.door_open, false) && doors_.close) doors_.close(service.name);
    return {};
  }
  std::vector<const Replica*> answering;
  std::string summary = fmt::format("{} {} {} {} {}", to_text(service.auth), to_text(service.state),
                                    service.primary_key, service.secondary_key, service.revision);
  for (const ReplicaFacts& seen : facts.replicas) {
    const Replica& replica = seen.replica;
    if (replica.state != ReplicaState::kReady || replica.revision != service.revision || seen.run_ended)
      continue;
    answering.push_back(&replica);
    summary += fmt::format(" {}={}", replica.number, replica.endpoint);
  }
  if (summary == tended.published) return {};
  Published published;
  published.auth = service.auth;
  published.why_none = why_none(service);
  SLIPWAY_ASSIGN(published.primary, parts_.seal.open(service.primary_key, key_purpose(service)));
  SLIPWAY_ASSIGN(published.secondary, parts_.seal.open(service.secondary_key, key_purpose(service)));
  for (const Revision& revision : facts.revisions) {
    if (revision.number != service.revision) continue;
    // The replica says itself when it takes too long; the door only waits for one that has died.
    published.answer_time = std::chrono::duration_cast<std::chrono::milliseconds>(revision.spec.timeout) +
                            std::chrono::seconds(5);
    published.repeatable = revision.spec.entry.empty();
  }
  for (const Replica* replica : answering) {
    SLIPWAY_ASSIGN(Secret key, parts_.seal.open(replica->key, key_purpose(service)));
    Place place = place_of(*replica, std::move(key));
    if (!place.host.empty() && place.port != 0) published.places.push_back(std::move(place));
  }
  parts_.door.publish(service.name, std::move(published));
  tended.published = std::move(summary);
  return {};
}

// A port once given stays the service's: clients have it written down.
Status Controller::open_door(Service& service, Tended& tended) {
  if (service.deleted_at || tended.door_open || !doors_.open) return {};
  const auto port = doors_.open(service.name, service.port);
  if (!port) {
    if (std::exchange(tended.door_problem_told, true)) return {};
    log_warning("services.port", {{"service", service.name}, {"error", port.error()}});
    return parts_.database.write([&](store::Writer& writer) -> Status {
      return record(
          writer, service, EventKind::kChanged,
          fmt::format("its own port is not open, /services/{} is: {}", service.name, port.error().message),
          parts_.clock.now());
    });
  }
  tended.door_open = true;
  tended.door_problem_told = false;
  if (*port == service.port) return {};
  service.port = *port;
  return parts_.database.write([&](store::Writer& writer) { return store_port(writer, service); });
}

Status Controller::tidy() {
  const Monotonic moment = parts_.clock.monotonic();
  if (moment - tidied_ < kTidyEvery) return {};
  tidied_ = moment;
  const int64_t now = parts_.clock.now().micros;
  std::vector<std::pair<Service, std::vector<Replica>>> found;
  SLIPWAY_TRY(parts_.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(const auto services, all_services(reader));
    for (const Service& service : services) {
      SLIPWAY_ASSIGN(auto replicas, list_replicas(reader, service.seq, true));
      found.emplace_back(service, std::move(replicas));
    }
    return {};
  }));
  for (const auto& [service, replicas] : found) {
    const bool gone = service.deleted_at && now - service.deleted_at->micros > kDeletedKeptFor.count();
    size_t ended = 0;
    size_t left = replicas.size();
    for (const Replica& replica : std::views::reverse(replicas)) {
      if (replica.state != ReplicaState::kEnded) continue;
      const bool old = replica.ended_at && now - replica.ended_at->micros > kEndedKeptFor.count();
      if (++ended <= kEndedKept && !old && !gone) continue;
      SLIPWAY_TRY(forget(service, replica));
      --left;
    }
    if (gone && left == 0)
      SLIPWAY_TRY(parts_.database.write(
          [&](store::Writer& writer) { return delete_service_rows(writer, service.seq); }));
  }
  return {};
}

Status Controller::clear(const WorkspaceName& workspace) {
  std::vector<std::pair<Service, std::vector<Replica>>> found;
  SLIPWAY_TRY(parts_.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(const auto services, all_services(reader));
    for (const Service& service : services) {
      if (service.workspace != workspace) continue;
      SLIPWAY_ASSIGN(auto replicas, list_replicas(reader, service.seq, true));
      found.emplace_back(service, std::move(replicas));
    }
    return {};
  }));
  for (const auto& [service, replicas] : found) {
    if (!service.deleted_at)
      return fail(ErrorCode::kConflict,
                  fmt::format("workspace '{}' has the service '{}'", workspace, service.name),
                  fmt::format("delete it first: slipway service delete {}", service.name));
    for (const Replica& replica : replicas)
      if (replica.state != ReplicaState::kEnded)
        return fail(ErrorCode::kConflict,
                    fmt::format("replicas of the deleted service '{}' are still ending", service.name),
                    "try again in a moment");
  }
  for (const auto& [service, replicas] : found) {
    for (const Replica& replica : replicas) SLIPWAY_TRY(forget(service, replica));
    SLIPWAY_TRY(parts_.database.write(
        [&](store::Writer& writer) { return delete_service_rows(writer, service.seq); }));
  }
  return {};
}

// Its run goes with it, and its logs.
Status Controller::forget(const Service& service, const Replica& replica) {
  if (replica.run) {
    std::optional<runs::Run> run;
    SLIPWAY_TRY(parts_.database.read([&](store::Reader& reader) -> Status {
      auto loaded = runs::load_run(reader, service.workspace, *replica.run);
      if (loaded) run = std::move(*loaded);
      return {};
    }));
    if (run) SLIPWAY_TRY(runs::delete_run(parts_.database, parts_.metrics, parts_.logs, *run));
  }
  return parts_.database.write([&](store::Writer& writer) { return delete_replica(writer, replica.number); });
}

}  // namespace slipway::services
