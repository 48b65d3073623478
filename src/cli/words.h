// Splits a command written as one string the way a shell would, without anything a shell would expand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace slipway::cli {

// Blanks separate; '...' keeps everything; "..." keeps everything but \" and \\; elsewhere a backslash keeps
// the next character. '$', '*', '~', '|' and the like are ordinary characters. kInvalidArgument for an open
// quote or a backslash at the end.
Result<std::vector<std::string>> split_words(std::string_view text);

// The words as one line that split_words (and a shell) reads back as the same words.
std::string join_words(const std::vector<std::string>& words);

}  // namespace slipway::cli
