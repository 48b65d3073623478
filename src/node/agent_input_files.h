// Where an input is placed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "protocol/data.h"

namespace slipway::node {

// "1.2 GiB"
std::string bytes_text(uint64_t bytes);

// Where the input goes: what the job asked for (below the working folder when that is relative), else
// inputs/NAME in the attempt's folder. Makes it. kInvalidArgument for a path that leaves the working folder,
// or for a place to mount that holds something already.
Result<std::filesystem::path> make_input_folder(const std::filesystem::path& attempt,
                                                const InputOrder& input);

}  // namespace slipway::node
