// Files and folders of this machine that are to be sent.
#pragma once

#include <filesystem>
#include <functional>

#include "base/result.h"
#include "cli/session.h"
#include "client/upload.h"
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

// Sends what the server lacks of them, and shows how far it is. `publish` makes them visible there; empty: as
// a snapshot.
Result<client::UploadSummary> send_local_files(
    Context& context, Session& session, const LocalFiles& local,
    const std::function<Result<bool>(client::Requests&)>& publish = {});

}  // namespace slipway::cli
