// What a command says about data and models, put in its place: ${inputs.NAME}, ${outputs.NAME},
// ${models.NAME} and, as Azure ML writes it, $AZUREML_DATAREFERENCE_NAME.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway::launch {

// Where a run's data is on this node, by the names the job knows it by. A model is a file or a folder.
struct DataPaths {
  std::map<std::string, std::string> inputs;
  std::map<std::string, std::string> outputs;
  std::map<std::string, std::string> models = {};
};

constexpr std::string_view kDataReference = "AZUREML_DATAREFERENCE_";

// kInvalidArgument for a reference to a name the job does not have. Other texts with '$' stay as they are.
Result<std::string> put_paths(std::string_view text, const DataPaths& data);

// The variables a job finds its data by: each name itself and AZUREML_DATAREFERENCE_<name>. Names that would
// change how a program runs (PATH, LD_...) are left out.
std::map<std::string, std::string> data_variables(const DataPaths& data);

}  // namespace slipway::launch
