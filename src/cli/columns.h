// How characters take up room on a terminal.
#pragma once

#include <cstddef>

namespace slipway::cli {

// C0, C1, DEL, and the marks that turn the direction of text around.
bool is_control(char32_t code);
// 0 for combining marks and joiners, 2 for East Asian wide characters and emoji, else 1.
size_t columns_of(char32_t code);

}  // namespace slipway::cli
