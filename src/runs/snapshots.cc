#include "runs/snapshots.h"

#include <fmt/format.h>

#include <algorithm>

#include "blobs/references.h"

namespace slipway::runs {
namespace {

auto no_such_snapshot(std::string_view digest) {
  return fail(ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'", digest.substr(0, 64)));
}

}  // namespace

Status Snapshots::add(const WorkspaceName& workspace, const snapshot::Manifest& manifest) {
  const auto hold = blobs_.hold();  // until the manifest has its reference
  SLIPWAY_TRY(blobs_.put(manifest.text()));
  return database_.write(
      [&](store::Writer& writer) { return add_snapshot(writer, workspace, manifest, clock_.now()); });
}

Status add_snapshot(store::Writer& writer, const WorkspaceName& workspace, const snapshot::Manifest& manifest,
                    Timestamp now) {
  const Digest& id = manifest.id();
  bool known = false;
  SLIPWAY_TRY(writer.query("SELECT 1 FROM snapshots WHERE workspace = ? AND digest = ?",
                           {workspace, id.hex()}, [&](const store::Row&) { known = true; }));
  if (known) return {};
  std::vector<Digest> digests;
  for (const snapshot::Entry& entry : manifest.entries()) digests.push_back(entry.digest);
  std::sort(digests.begin(), digests.end());
  digests.erase(std::unique(digests.begin(), digests.end()), digests.end());
  SLIPWAY_ASSIGN(const auto missing, blobs::missing(writer, workspace, digests));
  if (!missing.empty())
    return fail(ErrorCode::kConflict,
                fmt::format("{} of the snapshot's files are not uploaded, {} among them", missing.size(),
                            missing.front().hex()),
                "upload them first: POST .../blobs/missing says which");
  const std::string owner = blobs::snapshot_owner(workspace, id.hex());
  for (const Digest& digest : digests)
    SLIPWAY_TRY(blobs::add_reference(writer, digest, owner, workspace, std::nullopt));
  SLIPWAY_TRY(blobs::add_reference(writer, id, owner, workspace, std::nullopt));
  return writer.run(
      "INSERT INTO snapshots (workspace, digest, files, bytes, created_at) VALUES (?, ?, ?, ?, ?)",
      {workspace, id.hex(), manifest.entries().size(), manifest.total_bytes(), now});
}

bool Snapshots::exists(const WorkspaceName& workspace, const std::string& digest) {
  return check_snapshot(database_, workspace, digest).has_value();
}

Status check_snapshot(store::Database& database, const WorkspaceName& workspace, const std::string& digest) {
  return database.read([&](store::Reader& reader) { return check_snapshot(reader, workspace, digest); });
}

Status check_snapshot(store::Reader& reader, const WorkspaceName& workspace, const std::string& digest) {
  bool found = false;
  SLIPWAY_TRY(reader.query("SELECT 1 FROM snapshots WHERE workspace = ? AND digest = ?", {workspace, digest},
                           [&](const store::Row&) { found = true; }));
  if (found) return {};
  return fail(ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'", digest.substr(0, 64)),
              "upload the source first: POST .../snapshots");
}

Result<snapshot::Manifest> Snapshots::load(const WorkspaceName& workspace, const std::string& digest) {
  const auto id = Digest::parse(digest);
  if (!id || !exists(workspace, digest)) return no_such_snapshot(digest);
  SLIPWAY_ASSIGN(const blobs::OpenBlob blob, blobs_.open(*id));
  std::string text(blob.size, '\0');
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = ::pread(blob.fd.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (count <= 0) return fail(errno_error(errno, "read a manifest"));
    at += static_cast<size_t>(count);
  }
  return snapshot::Manifest::parse(text);
}

Status drop_unused_snapshot(store::Writer& writer, const WorkspaceName& workspace,
                            const std::string& digest) {
  if (digest.empty()) return {};
  bool used = false;
  for (const std::string_view question :
       {"SELECT 1 FROM runs WHERE snapshot = ? AND workspace = ? LIMIT 1",
        "SELECT 1 FROM model_versions WHERE manifest = ? AND workspace = ? LIMIT 1",
        "SELECT 1 FROM model_versions WHERE code_snapshot = ? AND workspace = ? LIMIT 1"})
    SLIPWAY_TRY(writer.query(question, {digest, workspace}, [&](const store::Row&) { used = true; }));
  if (used) return {};
  SLIPWAY_TRY(writer.run("DELETE FROM snapshots WHERE workspace = ? AND digest = ?", {workspace, digest}));
  return blobs::drop_references(writer, blobs::snapshot_owner(workspace, digest));
}

Status drop_unused_snapshots(store::Writer& writer, Timestamp before) {
  std::vector<std::pair<WorkspaceName, std::string>> old;
  SLIPWAY_TRY(writer.query(
      "SELECT s.workspace, s.digest FROM snapshots s WHERE s.created_at < ? AND NOT EXISTS "
      "(SELECT 1 FROM runs r WHERE r.snapshot = s.digest AND r.workspace = s.workspace) AND NOT EXISTS "
      "(SELECT 1 FROM model_versions m WHERE m.manifest = s.digest AND m.workspace = s.workspace) AND NOT "
      "EXISTS (SELECT 1 FROM model_versions m WHERE m.code_snapshot = s.digest AND m.workspace = "
      "s.workspace)",
      {before}, [&](const store::Row& row) { old.emplace_back(row.id<WorkspaceName>(0), row.text(1)); }));
  for (const auto& [workspace, digest] : old) SLIPWAY_TRY(drop_unused_snapshot(writer, workspace, digest));
  return {};
}

}  // namespace slipway::runs
