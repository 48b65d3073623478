#include "environments/environment.h"

#include <fmt/format.h>

#include "base/ids.h"

namespace slipway::environments {

Status check_environment(std::string_view name) {
  SLIPWAY_TRY(check_name(name, "environment"));
  if (name == kSystem) return {};
  return fail(
      ErrorCode::kUnsupported, fmt::format("there is no environment '{}'", name),
      "use 'system', the interpreters and libraries installed on the node; it is the only one so far");
}

}  // namespace slipway::environments
