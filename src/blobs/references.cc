#include "blobs/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_set>

#include "base/log.h"

namespace slipway::blobs {
namespace {

// Removals in one turn of the writer: others wait for it.
constexpr size_t kRemovals = 64;

Result<bool> has_reference(store::Reader& reader, const Digest& digest) {
  bool found = false;
  SLIPWAY_TRY(reader.query("SELECT 1 FROM blob_refs WHERE digest = ? LIMIT 1", {digest.hex()},
                           [&](const store::Row&) { found = true; }));
  return found;
}

}  // namespace

std::string upload_owner(const WorkspaceName& workspace) {
  return fmt::format("upload/{}", workspace);
}
std::string run_owner(const RunId& run) {
  return fmt::format("run/{}", run);
}
std::string snapshot_owner(const WorkspaceName& workspace, std::string_view snapshot) {
  return fmt::format("snapshot/{}/{}", workspace, snapshot);
}

Status add_reference(store::Writer& writer, const Digest& digest, std::string_view owner,
                     const WorkspaceName& workspace, std::optional<Timestamp> expires) {
  SLIPWAY_TRY(
      writer.run("INSERT INTO blob_refs (digest, owner, workspace, expires_at) VALUES (?, ?, ?, ?) "
                 "ON CONFLICT (digest, owner) DO UPDATE SET expires_at = CASE "
                 "WHEN excluded.expires_at IS NULL OR blob_refs.expires_at IS NULL THEN NULL "
                 "WHEN excluded.expires_at > blob_refs.expires_at THEN excluded.expires_at "
                 "ELSE blob_refs.expires_at END",
                 {digest.hex(), owner, workspace, expires}));
  if (expires) return {};
  const std::string lease = upload_owner(workspace);
  return owner == lease ? Status() : drop_reference(writer, digest, lease);
}

Status add_upload(store::Writer& writer, BlobStore& blobs, const Digest& digest,
                  const WorkspaceName& workspace, Timestamp expires) {
  if (!blobs.size_of(digest))
    return fail(ErrorCode::kUnavailable, fmt::format("the upload of {} is no longer there", digest.hex()),
                "send it again");
  return add_reference(writer, digest, upload_owner(workspace), workspace, expires);
}

Status drop_references(store::Writer& writer, std::string_view owner) {
  return writer.run("DELETE FROM blob_refs WHERE owner = ?", {owner});
}

Status drop_reference(store::Writer& writer, const Digest& digest, std::string_view owner) {
  return writer.run("DELETE FROM blob_refs WHERE digest = ? AND owner = ?", {digest.hex(), owner});
}

Result<bool> is_present(store::Reader& reader, const WorkspaceName& workspace, const Digest& digest) {
  bool found = false;
  SLIPWAY_TRY(reader.query("SELECT 1 FROM blob_refs WHERE workspace = ? AND digest = ? LIMIT 1",
                           {workspace, digest.hex()}, [&](const store::Row&) { found = true; }));
  return found;
}

Result<std::vector<Digest>> missing(store::Reader& reader, const WorkspaceName& workspace,
                                    const std::vector<Digest>& digests) {
  std::vector<Digest> lacking;
  std::unordered_set<Digest> seen;
  for (const Digest& digest : digests) {
    if (!seen.insert(digest).second) continue;
    SLIPWAY_ASSIGN(const bool present, is_present(reader, workspace, digest));
    if (!present) lacking.push_back(digest);
  }
  return lacking;
}

Result<std::vector<Digest>> Sweeper::candidates() {
  std::vector<Digest> all;
  SLIPWAY_TRY(blobs_.for_each([&](const Digest& digest, uint64_t) { all.push_back(digest); }));
  // Asked without the writer first: nearly all blobs are needed, and the writer has better things to do.
  std::vector<Digest> unreferenced;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    for (const Digest& digest : all) {
      SLIPWAY_ASSIGN(const bool needed, has_reference(reader, digest));
      if (!needed) unreferenced.push_back(digest);
    }
    return {};
  }));
  return unreferenced;
}

Status Sweeper::remove_unreferenced(const std::vector<Digest>& digests, Swept& swept) {
  for (std::span rest(digests); !rest.empty(); rest = rest.subspan(std::min(rest.size(), kRemovals))) {
    const std::span turn = rest.first(std::min(rest.size(), kRemovals));
    SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
      for (const Digest& digest : turn) {
        SLIPWAY_ASSIGN(const bool needed, has_reference(writer, digest));
        if (needed) continue;
        SLIPWAY_ASSIGN(const std::optional<uint64_t> freed, blobs_.hide(digest, grace_));
        swept.blobs += freed ? 1 : 0;
        swept.bytes += freed.value_or(0);
      }
      return {};
    }));
  }
  return {};
}

Result<Swept> Sweeper::sweep() {
  Swept swept;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const int64_t dropped,
                   writer.execute("DELETE FROM blob_refs WHERE expires_at < ?", {clock_.now()}));
    swept.leases = static_cast<uint64_t>(dropped);
    return {};
  }));
  SLIPWAY_ASSIGN(const std::vector<Digest> unreferenced, candidates());
  SLIPWAY_TRY(remove_unreferenced(unreferenced, swept));
  // Outside of the writer: on some file systems freeing a file takes milliseconds.
  blobs_.free_hidden();
  blobs_.drop_stale_partials();
  if (swept.blobs + swept.leases > 0)
    log_info("blob.swept", {{"leases", swept.leases}, {"blobs", swept.blobs}, {"bytes", swept.bytes}});
  return swept;
}

}  // namespace slipway::blobs
