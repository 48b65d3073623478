// What scripts written for the Azure ML SDK read from their environment, beyond what its companion can say
// when it submits them: only the node knows the run's id, its token and the addresses.
#pragma once

#include <map>
#include <string>

#include "protocol/node.h"

namespace slipway::launch {

// Set by the companion (python/azureml) on every job it submits; jobs without it get none of these.
constexpr std::string_view kAzureWorkspace = "AZUREML_ARM_WORKSPACE_NAME";

std::map<std::string, std::string> azure_variables(const AttemptOrder& order, const std::string& url);

}  // namespace slipway::launch
