#include "services/autoscale.h"

#include <algorithm>
#include <cmath>

namespace slipway::services {
namespace {

constexpr std::chrono::seconds kUpAfter{1};
constexpr double kMemorySeconds = 1.5;

}  // namespace

int Autoscaler::decide(const Scaling& scaling, int current, int under_way, Monotonic now) {
  if (sampled_at_) {
    const double passed = std::chrono::duration<double>(now - *sampled_at_).count();
    const double weight = 1 - std::exp(-std::max(passed, 0.0) / kMemorySeconds);
    average_ += (under_way - average_) * weight;
  } else {
    average_ = under_way;
  }
  sampled_at_ = now;
  const double each = scaling.max_concurrent_requests * scaling.target_utilization / 100.0;
  const int wanted =
      std::clamp(static_cast<int>(std::ceil(average_ / each - 1e-6)), scaling.min, scaling.max);
  if (wanted <= current) high_since_.reset();
  if (wanted >= current) low_since_.reset();
  if (wanted > current) {
    if (!high_since_) high_since_ = now;
    if (now - *high_since_ < kUpAfter) return std::clamp(current, scaling.min, scaling.max);
    high_since_.reset();
    return wanted;
  }
  if (wanted < current) {
    if (!low_since_) low_since_ = now;
    if (now - *low_since_ < scaling.down_after) return std::clamp(current, scaling.min, scaling.max);
    low_since_ = now;
    return std::max(scaling.min, std::min(current - 1, scaling.max));
  }
  return std::clamp(current, scaling.min, scaling.max);
}

}  // namespace slipway::services
