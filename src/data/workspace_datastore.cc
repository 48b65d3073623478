#include "data/workspace_datastore.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/utf8.h"
#include "blobs/references.h"
#include "data/shown.h"
#include "data/spool.h"

namespace slipway::data {
namespace {

constexpr size_t kPiece = 1 << 20;
// Rows in one turn of the writer: others wait for it.
constexpr size_t kRowsAtOnce = 2000;

std::unexpected<Error> no_file(const std::string& path) {
  return fail(ErrorCode::kNotFound, fmt::format("there is no file '{}'", shown(path)),
              "slipway datastore ls shows what there is");
}

Status check_path(const std::string& path) {
  if (is_clean_relative_path(path) && is_utf8(path)) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no path below a datastore", shown(path)),
              "paths are relative, without '..', empty components and backslashes");
}

Object object_of(const store::Row& row) {
  Object object{.path = std::string(row.text(0)),
                .size = static_cast<uint64_t>(row.integer(2)),
                .tag = std::string(row.text(1))};
  if (const auto digest = Digest::parse(row.text(1))) object.digest = *digest;
  return object;
}

Status give_all(int fd, uint64_t offset, uint64_t end, const Sink& sink) {
  std::vector<char> buffer(std::clamp<uint64_t>(end - offset, 1, kPiece));
  while (offset < end) {
    const size_t wanted = std::min<uint64_t>(buffer.size(), end - offset);
    const ssize_t count = ::pread(fd, buffer.data(), wanted, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(errno_error(errno, "read a blob"));
    SLIPWAY_TRY(sink({buffer.data(), static_cast<size_t>(count)}));
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

}  // namespace

std::string WorkspaceDatastore::owner_of(const std::string& path) const {
  return fmt::format("datastore/{}/{}/{}", workspace_, name_, path);
}

Result<Page> WorkspaceDatastore::list(const ListRequest& request) {
  Page page;
  // Everything that begins with the prefix lies between it and the prefix with the largest byte behind.
  const std::string end = request.prefix + "\xf4\x8f\xbf\xbf";
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) {
    return reader.query(
        "SELECT path, digest, size FROM datastore_files WHERE workspace = ? AND datastore = ? AND path > ? "
        "AND path >= ? AND path <= ? ORDER BY path LIMIT ?",
        {workspace_, name_, request.after, request.prefix, end, request.limit + 1},
        [&](const store::Row& row) { page.objects.push_back(object_of(row)); });
  }));
  if (page.objects.size() > request.limit) {
    page.objects.pop_back();
    page.next = page.objects.back().path;
  }
  return page;
}

Result<Object> WorkspaceDatastore::stat(const std::string& path) {
  SLIPWAY_TRY(check_path(path));
  std::optional<Object> found;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) {
    return reader.query(
        "SELECT path, digest, size FROM datastore_files WHERE workspace = ? AND datastore = ? AND path = ?",
        {workspace_, name_, path}, [&](const store::Row& row) { found = object_of(row); });
  }));
  if (!found) return no_file(path);
  return *found;
}

Result<Object> WorkspaceDatastore::read(const std::string& path, const Range& range, const std::string& tag,
                                        const Sink& sink) {
  SLIPWAY_ASSIGN(Object object, stat(path));
  if (!tag.empty() && tag != object.tag)
    return fail(ErrorCode::kConflict, fmt::format("the file '{}' has changed", shown(path)));
  SLIPWAY_ASSIGN(const blobs::OpenBlob blob, blobs_.open(*object.digest));
  const uint64_t offset = std::min(range.offset, blob.size);
  SLIPWAY_TRY(give_all(blob.fd.get(), offset, offset + std::min(range.length, blob.size - offset), sink));
  return object;
}

// The digest names the blob, so the bytes are gathered aside first.
Result<Object> WorkspaceDatastore::write(const std::string& path, const Pieces& pieces, bool overwrite) {
  SLIPWAY_TRY(check_path(path));
  SLIPWAY_ASSIGN(const UniqueFd aside, open_spool());
  Hasher hasher;
  uint64_t size = 0;
  while (true) {
    SLIPWAY_ASSIGN(const std::string_view piece, pieces());
    if (piece.empty()) break;
    hasher.update(piece);
    size += piece.size();
    SLIPWAY_TRY(write_all(aside.get(), piece));
  }
  const StoredFile file{.path = path, .digest = hasher.finish(), .size = size};
  const auto hold = blobs_.hold();  // until the path refers to it
  if (!blobs_.size_of(file.digest)) {
    SLIPWAY_ASSIGN(auto writer, blobs_.begin(file.digest));
    SLIPWAY_TRY(give_all(aside.get(), writer->offset(), size,
                         [&](std::string_view bytes) { return writer->append(bytes); }));
    SLIPWAY_TRY(writer->finish());
  }
  const Existing existing = overwrite ? Existing::kReplace : Existing::kRefuse;
  Added added;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) { return add_one(writer, file, existing, added); }));
  return Object{.path = path, .size = size, .tag = file.digest.hex(), .digest = file.digest};
}

Status WorkspaceDatastore::add_one(store::Writer& writer, const StoredFile& file, Existing existing,
                                   Added& added) {
  std::string before;
  SLIPWAY_TRY(
      writer.query("SELECT digest FROM datastore_files WHERE workspace = ? AND datastore = ? AND path = ?",
                   {workspace_, name_, file.path}, [&](const store::Row& row) { before = row.text(0); }));
  const std::string digest = file.digest.hex();
  if (!before.empty() && before != digest && existing == Existing::kSkip) {
    added.skipped.push_back(file.path);
    return {};
  }
  ++added.files;
  if (before == digest) return {};
  if (!before.empty() && existing == Existing::kRefuse)
    return fail(ErrorCode::kConflict, fmt::format("the file '{}' is there already", shown(file.path)),
                "choose another path, or overwrite it");
  const std::string owner = owner_of(file.path);
  if (!before.empty()) SLIPWAY_TRY(blobs::drop_references(writer, owner));
  SLIPWAY_TRY(blobs::add_reference(writer, file.digest, owner, workspace_, std::nullopt));
  return writer.run(
      "INSERT INTO datastore_files (workspace, datastore, path, digest, size, created_at) VALUES (?, ?, ?, "
      "?, "
      "?, ?) ON CONFLICT (workspace, datastore, path) DO UPDATE SET digest = excluded.digest, size = "
      "excluded.size, created_at = excluded.created_at",
      {workspace_, name_, file.path, digest, file.size, clock_.now()});
}

Result<Added> WorkspaceDatastore::add(const std::vector<StoredFile>& files, Existing existing) {
  Added added;
  std::vector<Digest> digests;
  for (const StoredFile& file : files) {
    SLIPWAY_TRY(check_path(file.path));
    const auto size = blobs_.size_of(file.digest);
    if (size && *size != file.size)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' has {} bytes, not {}", shown(file.path), *size, file.size));
    digests.push_back(file.digest);
  }
  for (size_t start = 0; start < files.size(); start += kRowsAtOnce) {
    const size_t end = std::min(start + kRowsAtOnce, files.size());
    Added now;
    SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
      now = {};
      const std::vector<Digest> part(digests.begin() + static_cast<ptrdiff_t>(start),
                                     digests.begin() + static_cast<ptrdiff_t>(end));
      SLIPWAY_ASSIGN(const auto missing, blobs::missing(writer, workspace_, part));
      if (!missing.empty())
        return fail(ErrorCode::kConflict,
                    fmt::format("{} of the files are not uploaded, {} among them", missing.size(),
                                missing.front().hex()),
                    "upload them first: POST .../blobs/missing says which");
      for (size_t i = start; i < end; ++i) SLIPWAY_TRY(add_one(writer, files[i], existing, now));
      return {};
    }));
    added.files += now.files;
    added.skipped.insert(added.skipped.end(), now.skipped.begin(), now.skipped.end());
  }
  return added;
}

Status WorkspaceDatastore::remove(const std::string& path) {
  return database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(
        const int64_t removed,
        writer.execute("DELETE FROM datastore_files WHERE workspace = ? AND datastore = ? AND path = ?",
                       {workspace_, name_, path}));
    if (removed == 0) return no_file(path);
    return blobs::drop_references(writer, owner_of(path));
  });
}

}  // namespace slipway::data
