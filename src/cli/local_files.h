// Files and folders of this machine that are to be sent.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "cli/context.h"
#include "snapshot/manifest.h"

namespace slipway::cli {

// What is sent: a folder and the files of it.
struct LocalFiles {
  std::filesystem::path folder;
  snapshot::Manifest files;
};

enum class PathsBegin {
  kInside,  // a folder's files are named from within it
  kAtName,  // with the folder's own name before them
};

// A file, or a folder with all below it under its ignore rules; says what was left out. kNotFound, and
// kInvalidArgument for a folder without files.
Result<LocalFiles> read_local_files(Context& context, const std::filesystem::path& from, PathsBegin begin);

}  // namespace slipway::cli
