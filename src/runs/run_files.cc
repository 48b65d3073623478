#include "runs/run_files.h"

#include <fmt/format.h>

#include <optional>

#include "base/digest.h"
#include "blobs/references.h"

namespace slipway::runs {
namespace {

// A digest that only another workspace has is as good as unknown: knowing it gives no right to the bytes.
Status check_content(store::Writer& writer, blobs::BlobStore& blobs, const Run& run, const OutputFile& file,
                     const Digest& digest) {
  SLIPWAY_ASSIGN(const bool present, blobs::is_present(writer, run.workspace, digest));
  const auto size = present ? blobs.size_of(digest) : std::nullopt;
  if (!size)
    return fail(ErrorCode::kConflict, fmt::format("the content of '{}' has not been uploaded", file.path),
                "upload it first: PUT .../blobs/{digest}");
  if (*size != file.size)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the content of '{}' has {} bytes, not {}", file.path, *size, file.size));
  return {};
}

// Lets go of content that no file of the run has any more.
Status let_go(store::Writer& writer, const Run& run, const std::string& hex) {
  bool needed = false;
  SLIPWAY_TRY(writer.query("SELECT 1 FROM run_files WHERE run = ? AND digest = ? LIMIT 1", {run.id, hex},
                           [&](const store::Row&) { needed = true; }));
  if (needed) return {};
  SLIPWAY_ASSIGN(const Digest digest, Digest::parse(hex));
  return blobs::drop_reference(writer, digest, blobs::run_owner(run.id));
}

Status add_one(store::Writer& writer, blobs::BlobStore& blobs, const Run& run, const OutputFile& file,
               bool replace) {
  SLIPWAY_ASSIGN(const Digest digest, Digest::parse(file.digest));
  std::optional<std::string> before;
  SLIPWAY_TRY(writer.query("SELECT digest FROM run_files WHERE run = ? AND path = ?", {run.id, file.path},
                           [&](const store::Row& row) { before = row.text(0); }));
  if (before == file.digest) return {};
  if (before && !replace)
    return fail(ErrorCode::kConflict,
                fmt::format("{} has a file '{}' already, with other content", run.id, file.path),
                "give it another name, or ask to replace it");
  SLIPWAY_TRY(check_content(writer, blobs, run, file, digest));
  SLIPWAY_TRY(
      writer.run("INSERT INTO run_files (run, path, digest, size, mode) VALUES (?, ?, ?, ?, ?) "
                 "ON CONFLICT (run, path) DO UPDATE SET digest = excluded.digest, size = excluded.size, "
                 "mode = excluded.mode",
                 {run.id, file.path, file.digest, file.size, file.mode}));
  SLIPWAY_TRY(blobs::add_reference(writer, digest, blobs::run_owner(run.id), run.workspace));
  return before ? let_go(writer, run, *before) : Status();
}

}  // namespace

Status add_run_files(store::Writer& writer, blobs::BlobStore& blobs, const Run& run,
                     const std::vector<OutputFile>& files, bool replace) {
  for (const OutputFile& file : files) SLIPWAY_TRY(add_one(writer, blobs, run, file, replace));
  return {};
}

}  // namespace slipway::runs
