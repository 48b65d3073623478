// The few things the readers of requirement lines and match specifications do with text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slipway::environments {

// Without blanks, tabs and carriage returns at either end.
std::string_view trimmed(std::string_view text);
// The pieces between `separator`, each trimmed, empty ones too.
std::vector<std::string_view> pieces_of(std::string_view text, char separator);
std::string lowered(std::string_view text);  // ASCII letters
bool is_letter_or_digit(char c);             // ASCII
// At most `max` bytes with '?' for control characters: for messages about input that may hold anything.
std::string shown(std::string_view text, size_t max = 80);
// Whether `text` is `pattern`, in which each '*' stands for any characters.
bool matches_pattern(std::string_view text, std::string_view pattern);

}  // namespace slipway::environments
