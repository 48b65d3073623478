// The steps of the schema that stand in files of their own, one for each part of the program.
#pragma once

#include <string_view>

namespace slipway::store {

extern const std::string_view kHistoryStep;
extern const std::string_view kDataStep;
extern const std::string_view kEnvironmentsStep;
extern const std::string_view kModelsStep;
extern const std::string_view kPriorityStep;
extern const std::string_view kServicesStep;
extern const std::string_view kLaunchersStep;
extern const std::string_view kSlurmStep;

}  // namespace slipway::store
