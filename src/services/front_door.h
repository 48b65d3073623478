// The address of every service: /services/NAME/... on the server's own port, and a port of its own. Looks at
// the key, picks the replica with the fewest requests under way, and counts.
//
// Invariants
//   1. A request is counted at its replica from the moment it is chosen, under the lock: a replica that is no
//      longer published and has none under way gets none any more.
//   2. What a client sends as its key goes no further; replicas are asked with their own.
//   3. A key is taken from the Authorization header alone.
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/secret.h"
#include "http/gateway.h"
#include "services/spec.h"

namespace slipway::services {

// A replica that answers.
struct Place {
  int64_t replica = 0;
  std::string host;
  uint16_t port = 0;
  Secret key;
};

// One service as the door knows it.
struct Published {
  Auth auth = Auth::kKey;
  Secret primary;
  Secret secondary;
  std::chrono::milliseconds answer_time{60'000};
  bool repeatable = false;  // a model's runtime only computes; what a script does is not known
  std::vector<Place> places;
  std::string why_none;  // for clients, while there is no place
};

struct Traffic {
  int under_way = 0;
  uint64_t requests = 0;
  uint64_t failures = 0;  // answered with 500 and more, or not at all
  double seconds = 0;     // of all of them together
};

class FrontDoor final : public http::Gateway {
 public:
  explicit FrontDoor(const Clock& clock) : clock_(clock) {}

  // From now on; places that were there before keep their connections and counts.
  void publish(const std::string& service, Published published);
  void remove(const std::string& service);

  Traffic traffic(const std::string& service) const;
  // Also of a replica that is not published any more.
  int under_way(int64_t replica) const;
  // Whether the last tries to connect to it have failed.
  bool unreachable(int64_t replica) const;

  bool takes(std::string_view target) const override;
  std::expected<http::Passage, http::Response> choose(const http::Head& head, std::string_view door,
                                                      std::span<const uint64_t> tried) override;
  void ended(const http::Passage& passage, http::PassageEnd how, int status,
             std::chrono::microseconds took) override;
  http::Response refusal(const http::Passage& passage, const Error& error) override;

 private:
  struct Upstream : http::Upstream {
    std::string service;
    Monotonic suspect_until{};
    int failed_connections = 0;
  };
  struct Entry {
    Published published;
    std::vector<std::shared_ptr<Upstream>> upstreams;
    Traffic traffic;
  };
  using Upstreams = std::map<uint64_t, std::weak_ptr<Upstream>>;

  std::optional<Error> why_not_let_in(const Entry& entry, const http::Head& head,
                                      std::string_view target) const;
  std::shared_ptr<Upstream> pick(const Entry& entry, std::span<const uint64_t> tried) const;
  std::shared_ptr<Upstream> find(int64_t replica) const;

  const Clock& clock_;
  mutable std::mutex mutex_;  // guards all below
  std::map<std::string, Entry, std::less<>> entries_;
  Upstreams upstreams_;  // published or with requests under way
};

}  // namespace slipway::services
