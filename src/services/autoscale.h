// How many replicas a service's load asks for. Pure but for what it remembers of the load before.
#pragma once

#include <optional>

#include "base/clock.h"
#include "services/spec.h"

namespace slipway::services {

// Not thread-safe: the controller's.
class Autoscaler {
 public:
  // `under_way`: requests under way at all replicas now. Rises after a second of more load than the replicas
  // should have, falls one by one after `Scaling::down_after` of less: a load that swings between two numbers
  // of replicas stays with the larger.
  int decide(const Scaling& scaling, int current, int under_way, Monotonic now);
  double average() const { return average_; }

 private:
  std::optional<Monotonic> sampled_at_;
  double average_ = 0;  // over the last seconds
  std::optional<Monotonic> high_since_;
  std::optional<Monotonic> low_since_;
};

}  // namespace slipway::services
