#include "services/front_door.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <tuple>

#include "base/random.h"
#include "services/keys.h"

namespace slipway::services {
namespace {

constexpr std::string_view kPrefix = "/services/";
// How long a replica that could not be connected to, or went away, is left alone while others are there.
constexpr std::chrono::seconds kSuspectFor{1};
constexpr int kUnreachableAfter = 3;
constexpr size_t kLongestRequestId = 128;

struct Address {
  std::string_view service;
  std::string_view target;  // path and query at the replica
};

Address address_of(std::string_view target, std::string_view door) {
  if (!door.empty()) return {.service = door, .target = target};
  target.remove_prefix(std::min(kPrefix.size(), target.size()));
  const size_t end = target.find_first_of("/?");
  const std::string_view rest = end == std::string_view::npos ? "" : target.substr(end);
  return {.service = target.substr(0, end), .target = rest};
}

std::string_view header(const http::Head& head, std::string_view name) {
  const auto found = head.headers.find(name);
  return found == head.headers.end() ? std::string_view() : std::string_view(found->second);
}

// The client's own, where it can stand in a log line, or a new one.
std::string request_id(const http::Head& head) {
  const std::string_view given = header(head, "x-request-id");
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  if (!given.empty() && given.size() <= kLongestRequestId && std::ranges::all_of(given, plain))
    return std::string(given);
  thread_local std::mt19937_64 numbers{[] {
    uint64_t seed = 0;
    const std::string bytes = random_bytes(sizeof seed);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&seed));
    return seed;
  }()};
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id(32, '0');
  for (size_t i = 0; i < id.size(); i += 16) {
    uint64_t number = numbers();
    for (size_t digit = i; digit < i + 16; ++digit, number >>= 4) id[digit] = kDigits[number & 15];
  }
  return id;
}

// What monitors and load balancers ask, who have no key.
bool is_health_check(const http::Head& head, std::string_view target) {
  constexpr std::array<std::string_view, 6> kPaths{
      "", "/", "/ping", "/health", "/v2/health/live", "/v2/health/ready"};
  return (head.method == "GET" || head.method == "HEAD") && std::ranges::count(kPaths, target) > 0;
}

// Whether the address has a parameter that people put keys into.
bool has_key_parameter(std::string_view target) {
  constexpr std::array<std::string_view, 7> kNames{
      "key=", "api_key=", "api-key=", "apikey=", "token=", "access_token=", "code="};
  size_t at = target.find('?');
  while (at != std::string_view::npos) {
    const std::string_view rest = target.substr(at + 1);
    if (std::ranges::any_of(kNames, [&](std::string_view name) { return rest.starts_with(name); }))
      return true;
    at = target.find('&', at + 1);
  }
  return false;
}

Error not_let_in(std::string message, std::string next = "send it in the header: Authorization: Bearer KEY") {
  return {.code = ErrorCode::kUnauthenticated,
          .message = std::move(message),
          .next = std::move(next),
          .detail = ""};
}

// In the form that clients of this path read errors in.
http::Response refusal_at(std::string_view target, const Error& error, const std::string& id) {
  const std::string sentence = error.next.empty() ? error.message : error.message + "; " + error.next;
  http::Response response = http::error_response(error);
  if (target.starts_with("/v1/") || target.starts_with("/v2"))
    response.body = json::serialize(json::object{{"error", sentence}});
  else if (target.starts_with("/score") || target == "/" || target.empty())
    response.body = json::serialize(json::object{{"message", sentence}});
  response.headers["X-Request-Id"] = id;
  return response;
}

Error no_service(std::string_view name) {
  return {.code = ErrorCode::kNotFound,
          .message = fmt::format("there is no service '{}'", name.substr(0, 64)),
          .next = "slipway service list shows those there are",
          .detail = ""};
}

}  // namespace

bool FrontDoor::takes(std::string_view target) const {
  return target.starts_with(kPrefix);
}

void FrontDoor::publish(const std::string& service, Published published) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[service];
  std::vector<std::shared_ptr<Upstream>> upstreams;
  for (const Place& place : published.places) {
    const auto id = static_cast<uint64_t>(place.replica);
    std::shared_ptr<Upstream> upstream = find(place.replica);
    if (!upstream) {
      upstream = std::make_shared<Upstream>();
      upstream->id = id;
      upstream->host = place.host;
      upstream->port = place.port;
      upstream->key = place.key;
      upstream->service = service;
      upstreams_[id] = upstream;
    }
    upstreams.push_back(std::move(upstream));
  }
  entry.upstreams = std::move(upstreams);
  entry.published = std::move(published);
  std::erase_if(upstreams_, [](const auto& known) { return known.second.expired(); });
}

void FrontDoor::remove(const std::string& service) {
  const std::lock_guard lock(mutex_);
  entries_.erase(service);
}

Traffic FrontDoor::traffic(const std::string& service) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(service);
  if (found == entries_.end()) return {};
  Traffic traffic = found->second.traffic;
  for (const auto& upstream : found->second.upstreams) traffic.under_way += upstream->under_way;
  return traffic;
}

std::shared_ptr<FrontDoor::Upstream> FrontDoor::find(int64_t replica) const {
  const auto found = upstreams_.find(static_cast<uint64_t>(replica));
  return found == upstreams_.end() ? nullptr : found->second.lock();
}

int FrontDoor::under_way(int64_t replica) const {
  const std::lock_guard lock(mutex_);
  const auto upstream = find(replica);
  return upstream ? upstream->under_way.load() : 0;
}

bool FrontDoor::unreachable(int64_t replica) const {
  const std::lock_guard lock(mutex_);
  const auto upstream = find(replica);
  return upstream && upstream->failed_connections >= kUnreachableAfter;
}

std::optional<Error> FrontDoor::why_not_let_in(const Entry& entry, const http::Head& head,
                                               std::string_view target) const {
  const Published& service = entry.published;
  const auto contains = [&](const Secret& key) { return !key.empty() && target.contains(key.reveal()); };
  if (contains(service.primary) || contains(service.secondary))
    return Error{
        .code = ErrorCode::kInvalidArgument,
        .message = "the key of the service is in the address, where every log on the way keeps it",
        .next = "make a new one (slipway service regen-key) and send it as Authorization: Bearer KEY",
        .detail = ""};
  if (service.auth == Auth::kNone || is_health_check(head, target)) return std::nullopt;
  const std::string_view given = header(head, "authorization");
  constexpr std::string_view kBearer = "Bearer ";
  if (given.empty() && has_key_parameter(target)) return not_let_in("a key is not taken from the address");
  if (given.empty()) return not_let_in("this service asks for a key");
  if (!given.starts_with(kBearer)) return not_let_in("this service takes its key as Bearer");
  const std::string_view key = given.substr(kBearer.size());
  const bool first = same_key(key, service.primary.reveal());
  const bool second = same_key(key, service.secondary.reveal());
  if (service.auth == Auth::kKey && (first || second)) return std::nullopt;
  if (service.auth == Auth::kToken && is_good_token(key, service.primary, clock_.now())) return std::nullopt;
  if (key.starts_with("slw_"))
    return not_let_in("that is a token of the workspace; a service has keys of its own",
                      "slipway service keys NAME shows them");
  return not_let_in(service.auth == Auth::kToken ? "this service does not know that token, or it has expired"
                                                 : "this service does not know that key");
}

std::shared_ptr<FrontDoor::Upstream> FrontDoor::pick(const Entry& entry,
                                                     std::span<const uint64_t> tried) const {
  const Monotonic now = std::chrono::steady_clock::now();
  std::shared_ptr<Upstream> best;
  for (const auto& upstream : entry.upstreams) {
    if (std::ranges::count(tried, upstream->id) > 0) continue;
    const auto rank = [&](const Upstream& one) {
      return std::tuple(one.suspect_until > now, one.under_way.load());
    };
    if (!best || rank(*upstream) < rank(*best)) best = upstream;
  }
  return best;
}

std::expected<http::Passage, http::Response> FrontDoor::choose(const http::Head& head, std::string_view door,
                                                               std::span<const uint64_t> tried) {
  const Address address = address_of(head.target, door);
  std::string id = request_id(head);
  const auto refuse = [&](const Error& error) {
    return std::unexpected(refusal_at(address.target, error, id));
  };
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(address.service);
  if (found == entries_.end()) return refuse(no_service(address.service));
  Entry& entry = found->second;
  if (const auto error = why_not_let_in(entry, head, address.target)) return refuse(*error);
  const std::shared_ptr<Upstream> upstream = pick(entry, tried);
  if (!upstream) {
    ++entry.traffic.requests;
    ++entry.traffic.failures;
    if (!tried.empty())
      return refuse({.code = ErrorCode::kUnreachable,
                     .message = "none of the service's replicas can be reached",
                     .next = "try again in a moment",
                     .detail = ""});
    return refuse({.code = ErrorCode::kUnavailable,
                   .message = entry.published.why_none,
                   .next = "try again in a moment",
                   .detail = ""});
  }
  ++upstream->under_way;
  std::string target(address.target);
  if (!target.starts_with('/')) target.insert(0, "/");
  return http::Passage{.upstream = upstream,
                       .target = std::move(target),
                       .request_id = std::move(id),
                       .answer_time = entry.published.answer_time,
                       .repeatable = entry.published.repeatable};
}

void FrontDoor::ended(const http::Passage& passage, http::PassageEnd how, int status,
                      std::chrono::microseconds took) {
  auto& upstream = static_cast<Upstream&>(*passage.upstream);
  const std::lock_guard lock(mutex_);
  --upstream.under_way;
  if (how == http::PassageEnd::kNotConnected) {
    ++upstream.failed_connections;
    upstream.suspect_until = std::chrono::steady_clock::now() + kSuspectFor;
    return;  // another replica is tried, and counted
  }
  upstream.failed_connections = 0;
  // A process that dies closes what it is asked on before what it listens on.
  if (how == http::PassageEnd::kBroken)
    upstream.suspect_until = std::chrono::steady_clock::now() + kSuspectFor;
  const auto found = entries_.find(upstream.service);
  if (found == entries_.end()) return;
  Traffic& traffic = found->second.traffic;
  ++traffic.requests;
  traffic.seconds += std::chrono::duration<double>(took).count();
  const bool failed = how == http::PassageEnd::kBroken || how == http::PassageEnd::kLate || status >= 500;
  if (failed) ++traffic.failures;
}

http::Response FrontDoor::refusal(const http::Passage& passage, const Error& error) {
  return refusal_at(passage.target, error, passage.request_id);
}

}  // namespace slipway::services
