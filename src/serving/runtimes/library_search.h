// Where a framework's shared libraries are: in a Python package, since that is how people have them.
#pragma once

#include <string>

#include "base/result.h"

namespace slipway::serving {

struct Framework {
  std::string package;  // as imported: "onnxruntime"
  std::string pip;      // as installed: "onnxruntime"
  std::string inside;   // the folder of the libraries within the package: "capi"
  std::string library;  // how the library's name begins: "libonnxruntime.so"
};

extern const Framework kOnnxRuntime;
extern const Framework kTensorFlow;

struct LibrarySearch {
  std::string runtime_folder;  // given by the user: the libraries' folder, or one that holds packages
  std::string python;          // an interpreter; empty: python3
};

// The folder with the framework's libraries: the given one, else that of the active environment
// ($VIRTUAL_ENV, $CONDA_PREFIX), else what the interpreter says, without importing anything. kUnavailable
// names the package to install.
Result<std::string> find_framework(const Framework& framework, const LibrarySearch& search);

}  // namespace slipway::serving
