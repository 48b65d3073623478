// Brings files from the server to a folder: side by side, going on where an interrupted download had stopped,
// each one checked against its digest before it takes its name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "client/connection.h"
#include "client/progress.h"
#include "client/requests.h"
#include "snapshot/manifest.h"

namespace slipway::client {

struct RemoteFile {
  std::string path;    // below the target folder; anything but a clean relative path is refused
  std::string target;  // of the GET that answers with its bytes; takes Range
  uint64_t size = 0;
  Digest digest;
  int mode = 0644;
};

struct DownloadOptions {
  unsigned connections = 4;
  RetryPolicy retry = {};
  OnProgress on_progress = {};
};

struct DownloadSummary {
  size_t files = 0;    // written
  size_t skipped = 0;  // already there with the same content
  uint64_t bytes = 0;  // received
};

// Creates `folder` where it is missing. A file of the same name and other content is replaced, in one step,
// when the new one is whole. Links in the folder are not followed. kInvalidArgument for a path that leaves
// the folder (nothing is written then), kInternal for content that does not match its digest.
Result<DownloadSummary> download_files(const Connection& connection, const std::vector<RemoteFile>& files,
                                       const std::filesystem::path& folder,
                                       const DownloadOptions& options = {});

// The files a run has kept, those whose path begins with `prefix`.
Result<std::vector<RemoteFile>> list_run_files(Requests& requests, std::string_view run,
                                               std::string_view prefix = "");
// The files of a snapshot.
Result<std::vector<RemoteFile>> list_snapshot_files(Requests& requests, std::string_view snapshot);

}  // namespace slipway::client
