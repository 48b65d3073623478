#include <fmt/format.h>

#include "environments/build/conda_builder.h"
#include "environments/build/image_builder.h"
#include "environments/build/uv_builder.h"
#include "environments/build/workshop.h"

namespace slipway::environments {

Result<std::unique_ptr<Builder>> choose_builder(const EnvironmentDefinition& definition,
                                                const Workshop& workshop) {
  if (definition.container.enabled) return make_image_builder();
  // A conda file is taken as it stands where something can; else through the table of names.
  if (!definition.conda.empty() && !find_conda(workshop).program.empty()) return make_conda_builder();
  return make_uv_builder();
}

Result<std::unique_ptr<Builder>> builder_of(const Lock& lock) {
  if (lock.builder == "uv") return make_uv_builder();
  if (lock.builder == "image") return make_image_builder();
  if (lock.builder == "conda") return make_conda_builder();
  return fail(ErrorCode::kUnsupported,
              fmt::format("the lock of this environment was made by '{}', which this agent does not know",
                          lock.builder),
              "update Slipway on this node");
}

}  // namespace slipway::environments
