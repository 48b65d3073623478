#include "protocol/priority.h"

#include <fmt/format.h>

namespace slipway {

std::string_view to_text(JobPriority priority) {
  switch (priority) {
    case JobPriority::kLow: return "low";
    case JobPriority::kNormal: return "normal";
    case JobPriority::kHigh: return "high";
  }
  return "";
}

Result<JobPriority> job_priority_from_text(std::string_view text) {
  for (const JobPriority priority : {JobPriority::kLow, JobPriority::kNormal, JobPriority::kHigh})
    if (to_text(priority) == text) return priority;
  return fail(ErrorCode::kInvalidArgument, fmt::format("a job has no priority '{}'", text.substr(0, 64)),
              "use 'low', 'normal' or 'high'");
}

}  // namespace slipway
