// An environment in the form that the Azure ML SDK writes to a folder (`save_to_directory`), so that folders
// go both ways.
//
//   azureml_environment.json   name, version, docker, python and environmentVariables
//   conda_dependencies.yml     Python and packages, unless the environment is user managed
//   BaseDockerfile             where there is one
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "environments/environment_store.h"

namespace slipway::environments {

constexpr std::string_view kAzureFile = "azureml_environment.json";
constexpr std::string_view kAzureCondaFile = "conda_dependencies.yml";
constexpr std::string_view kAzureDockerfile = "BaseDockerfile";

using FileTexts = std::map<std::string, std::string, std::less<>>;  // by file name

FileTexts to_azure_files(const Environment& environment);

// Name and definition; the version is left out, as it is another one here. kInvalidArgument with the file and
// what is wrong in it; fields that Slipway has no use for are passed over.
Result<Environment> from_azure_files(const FileTexts& files);

}  // namespace slipway::environments
