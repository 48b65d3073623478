// The states of a service, as its users know them.
#pragma once

#include <optional>
#include <string_view>

namespace slipway::services {

enum class ServiceState {
  kTransitioning,  // its first version is being loaded
  kHealthy,        // requests are answered
  kUnhealthy,      // it has answered, and no replica does now; they are started again
  kFailed,         // its first version cannot be loaded
};

inline constexpr ServiceState kAllServiceStates[] = {ServiceState::kTransitioning, ServiceState::kHealthy,
                                                     ServiceState::kUnhealthy, ServiceState::kFailed};

std::string_view to_text(ServiceState state);  // "Healthy"
std::optional<ServiceState> service_state_from_text(std::string_view text);

}  // namespace slipway::services
