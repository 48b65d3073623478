// What kind of model a file or a folder is. Only names are looked at; nothing is opened.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace slipway::serving {

enum class ModelKind { kOnnx, kSavedModel, kKeras, kCheckpoint, kTorch, kPickle, kEntryScript, kOther };

struct ModelFiles {
  ModelKind kind = ModelKind::kOnnx;
  std::filesystem::path path;  // the file, or the folder that is the model
  std::string name;            // after what the user named
  std::string version;         // of a folder of numbered versions the largest, else 1
};

// kNotFound where there is nothing; kInvalidArgument for a folder with no model or several, kUnsupported for
// a file of a kind that cannot be served, with what to do about it.
Result<ModelFiles> find_model(const std::filesystem::path& path);

// A file or folder of whatever kind, as kOther: for a runtime that knows by itself. kNotFound.
Result<ModelFiles> any_model(const std::filesystem::path& path);

}  // namespace slipway::serving
