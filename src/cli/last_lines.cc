#include "cli/last_lines.h"

namespace slipway::cli {

std::optional<size_t> start_of_last_lines(std::string_view text, size_t lines) {
  if (lines == 0) return text.size();
  // The newline that ends the last line does not begin another.
  size_t at = text.ends_with('\n') ? text.size() - 1 : text.size();
  for (size_t found = 0; at > 0;) {
    const size_t newline = text.rfind('\n', at - 1);
    if (newline == std::string_view::npos) return std::nullopt;
    if (++found == lines) return newline + 1;
    at = newline;
  }
  return std::nullopt;
}

}  // namespace slipway::cli
