// Sends a snapshot to the server: only what it lacks, small files together, large ones side by side and from
// where an interrupted upload had stopped.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "client/connection.h"
#include "client/progress.h"
#include "client/requests.h"
#include "protocol/job.h"
#include "snapshot/take.h"

namespace slipway::client {

// Files below this size travel together.
constexpr uint64_t kSmallFile = 64 << 10;
constexpr uint64_t kPackBytes = 4 << 20;

struct UploadOptions {
  unsigned connections = 4;
  // Ask whether the server has it all before asking what it lacks: right when nothing changed since the last
  // time.
  bool probably_known = false;
  RetryPolicy retry = {};
  OnProgress on_progress = {};
  // Makes the files visible once the server has them all; false: it lacks some. Empty: as a snapshot.
  std::function<Result<bool>(Requests& requests)> publish = {};
};

struct UploadSummary {
  uint64_t sent_bytes = 0;
  size_t sent_files = 0;
};

// Makes the snapshot visible on the server. The files are read again from `folder`; kConflict, naming it, for
// one that is no longer what the manifest says.
Result<UploadSummary> upload_snapshot(const Connection& connection, const std::filesystem::path& folder,
                                      const snapshot::Manifest& manifest, const UploadOptions& options = {});

struct SourceOptions {
  snapshot::WalkLimits limits = {};
  bool use_cache = true;
  RetryPolicy retry = {};
  std::function<void(const snapshot::HashProgress&)> on_hash = {};
  OnProgress on_upload = {};
};

// All a job needs to know of its source.
struct Source {
  snapshot::Manifest manifest;  // its id goes into Job::snapshot
  std::vector<snapshot::SkippedFile> skipped;
  GitState git;
  UploadSummary sent;
};

// Takes the snapshot of a folder, reads its git state meanwhile, and uploads it. A file that changes in
// between makes it start again, three times in all.
Result<Source> send_source(const Connection& connection, const std::filesystem::path& folder,
                           const SourceOptions& options = {});

}  // namespace slipway::client
