// The Python interpreters of this machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "environments/build/workshop.h"
#include "environments/python_request.h"

namespace slipway::environments {

struct Interpreter {
  std::filesystem::path path;  // absolute, never a pyenv shim
  PythonVersion version;
};

// Those on the PATH, in pyenv and in uv's store, each version once: the first one found.
std::vector<Interpreter> find_interpreters(const Workshop& workshop);

// The one nearest to what is asked for, with a line in the log when it is another patch release. Where there
// is none, `uv` is asked to fetch one. kUnsupported, with what there is.
Result<Interpreter> choose_interpreter(const std::string& python, const std::filesystem::path& uv,
                                       const Workshop& workshop);

// The version of one interpreter, by asking it. kUnsupported when it does not answer.
Result<PythonVersion> ask_version(const std::filesystem::path& interpreter, const Workshop& workshop);

}  // namespace slipway::environments
