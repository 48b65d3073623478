// What a job is worth beside the others of its cluster: who goes first when room is short, and who gives way
// to whom (compute/standing.h).
#pragma once

#include <string_view>

#include "base/result.h"

namespace slipway {

enum class JobPriority { kLow, kNormal, kHigh };

std::string_view to_text(JobPriority priority);  // "normal"
// kInvalidArgument, with those there are.
Result<JobPriority> job_priority_from_text(std::string_view text);

}  // namespace slipway
