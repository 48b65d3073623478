// A folder or a file going into one of the workspace's own stores.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/context.h"
#include "cli/session.h"

namespace slipway::cli {

struct UploadedData {
  std::string datastore;
  std::string path;    // below it
  std::string digest;  // of the whole: the same folder has the same one
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t sent_bytes = 0;
  std::vector<std::string> skipped;  // paths that had another content already
};

struct UploadWish {
  std::filesystem::path from;  // a folder, or one file
  std::string datastore = "default";
  // Below the datastore; empty: "uploads/" and the beginning of the digest, so that nothing is overwritten.
  std::string path = {};
  std::string existing = "skip";  // skip, replace or refuse: what has another content already
};

// Only what the server lacks is sent. Links are not followed; they are told on stderr, like other files that
// are no files.
Result<UploadedData> upload_data(Context& context, Session& session, const UploadWish& wish);

}  // namespace slipway::cli
