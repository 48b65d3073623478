// The end of a text, line by line.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace slipway::cli {

// Where the last `lines` lines of the text begin; nullopt: it has no more than that many, or may go on to the
// left.
std::optional<size_t> start_of_last_lines(std::string_view text, size_t lines);

}  // namespace slipway::cli
