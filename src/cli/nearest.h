// "did you mean": the known word nearest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slipway::cli {

// Insertions, deletions, substitutions and swaps of neighbours.
size_t edit_distance(std::string_view a, std::string_view b);
// Empty when nothing is near enough to be what was meant.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace slipway::cli
