// Environments made by a conda-compatible tool of this machine: micromamba, mamba or conda.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "environments/build/workshop.h"

namespace slipway::environments {

struct CondaTool {
  std::string name;
  std::filesystem::path program;  // empty: there is none
};
CondaTool find_conda(const Workshop& workshop);

std::unique_ptr<Builder> make_conda_builder();

}  // namespace slipway::environments
