// Doubles in a number column, and the few that it does not keep beside it.
#pragma once

#include <optional>
#include <string_view>

namespace slipway::metrics {

// "NaN", "Infinity", "-Infinity" or "-0"; nullopt for a value that a number column keeps.
std::optional<std::string_view> special_text(double value);
// The reverse; nullopt for any other text.
std::optional<double> special_value(std::string_view text);

}  // namespace slipway::metrics
