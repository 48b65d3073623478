#include "data/datasets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/failpoint.h"
#include "base/file.h"
#include "data/folder_datastore.h"
#include "data/http_files.h"
#include "data/shown.h"
#include "data/stoppable_datastore.h"

namespace slipway::data {
namespace {

constexpr size_t kPiece = 1 << 20;
constexpr size_t kRecentFiles = 2'000'000;  // of all manifests that are kept together
constexpr size_t kRecentManifests = 16;
constexpr size_t kMostTags = 256;
constexpr size_t kLongestTagKey = 250;
constexpr size_t kLongestTagValue = 8000;
constexpr size_t kLongestDescription = 4096;

Status check_labels(const std::map<std::string, std::string>& tags, const std::string& description) {
  if (tags.size() > kMostTags)
    return fail(ErrorCode::kInvalidArgument, fmt::format("a dataset has at most {} tags", kMostTags));
  for (const auto& [key, value] : tags)
    if (key.empty() || key.size() > kLongestTagKey || value.size() > kLongestTagValue)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("a tag has a key of 1 to {} bytes and a value of at most {}", kLongestTagKey,
                              kLongestTagValue));
  if (description.size() > kLongestDescription)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a description has at most {} bytes", kLongestDescription));
  return {};
}

Result<std::string> read_whole(const blobs::OpenBlob& blob) {
  std::string text(blob.size, '\0');
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = ::pread(blob.fd.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (count <= 0) return fail(errno_error(errno, "read a manifest"));
    at += static_cast<size_t>(count);
  }
  return text;
}

class Slot {
 public:
  explicit Slot(std::counting_semaphore<>& slots) : slots_(slots), taken_(slots.try_acquire()) {}
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() {
    if (taken_) slots_.release();
  }
  bool taken() const { return taken_; }

 private:
  std::counting_semaphore<>& slots_;
  bool taken_;
};

}  // namespace

std::vector<Digest> own_blobs(const Manifest& manifest) {
  std::vector<Digest> digests;
  for (const File& file : manifest.files())
    if (manifest.source_of(file).kind == SourceKind::kWorkspace) digests.push_back(*file.digest);
  std::ranges::sort(digests);
  digests.erase(std::ranges::unique(digests).begin(), digests.end());
  return digests;
}

// A definition made from another's version takes that one's files and paths, and adds its own operations.
Result<Manifest> Datasets::find_files(const WorkspaceName& workspace, Definition& definition) {
  if (definition.from.empty())
    return resolve(definition, [&](const std::string& name) -> Result<OpenDatastore> {
      SLIPWAY_ASSIGN(OpenDatastore opened, datastores_.open(workspace, name));
      opened.store = std::make_shared<StoppableDatastore>(std::move(opened.store), stopped_);
      return opened;
    });
  SLIPWAY_ASSIGN(const VersionRecord base, find(workspace, definition.from));
  SLIPWAY_ASSIGN(const auto files, manifest(base.manifest));
  SLIPWAY_ASSIGN(Manifest narrowed, narrow(*files, definition.operations));
  std::vector<Operation> operations = base.definition.operations;
  operations.insert(operations.end(), definition.operations.begin(), definition.operations.end());
  definition.operations = std::move(operations);
  definition.paths = base.definition.paths;
  definition.from = to_text(base);
  if (!definition.table) definition.table = base.definition.table;
  return narrowed;
}

Result<CreatedDataset> Datasets::create(const WorkspaceName& workspace, const NewDataset& made) {
  SLIPWAY_TRY(check_name(made.name, "dataset", 255));
  SLIPWAY_TRY(check_labels(made.tags, made.description.value_or("")));
  const Slot slot(creations_);
  if (!slot.taken())
    return fail(ErrorCode::kExhausted, "other datasets are being created", "try again in a moment");
  CreatedDataset result;
  VersionRecord record{.name = made.name,
                       .version = 1,
                       .definition = made.definition,
                       .manifest = {},
                       .files = 0,
                       .bytes = 0,
                       .description = made.description.value_or(""),
                       .tags = made.tags,
                       .produced_by = std::nullopt,
                       .output = "",
                       .created_by = made.created_by,
                       .created_at = clock_.now()};
  SLIPWAY_ASSIGN(const Manifest files, find_files(workspace, record.definition));
  record.files = files.files().size();
  record.bytes = files.total_bytes();
  const std::vector<Digest> blobs = own_blobs(files);
  const auto hold = blobs_.hold();  // until the version refers to its manifest
  SLIPWAY_ASSIGN(record.manifest, blobs_.put(files.text()));
  SLIPWAY_FAILPOINT("data.before_version");
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    result = {};
    SLIPWAY_ASSIGN(auto same, find_same(writer, workspace, record));
    if (!same) {
      result.record = record;
      return insert_version(writer, workspace, result.record, blobs);
    }
    result = {.record = std::move(*same), .existed = true};
    if (made.description) result.record.description = *made.description;
    for (const auto& [key, value] : made.tags) result.record.tags[key] = value;
    return update_labels(writer, workspace, result.record);
  }));
  return result;
}

Result<VersionRecord> Datasets::find(const WorkspaceName& workspace, const std::string& ref) {
  SLIPWAY_ASSIGN(const DatasetRef parsed, parse_dataset_ref(ref));
  VersionRecord record;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(record, find_version(reader, workspace, parsed));
    return {};
  }));
  return record;
}

Result<std::shared_ptr<const Manifest>> Datasets::manifest(const Digest& id) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find(recent_, id, [](const auto& entry) { return entry.first; });
    if (known != recent_.end()) {
      recent_.splice(recent_.begin(), recent_, known);
      return recent_.front().second;
    }
  }
  SLIPWAY_ASSIGN(const blobs::OpenBlob blob, blobs_.open(id));
  SLIPWAY_ASSIGN(const std::string text, read_whole(blob));
  SLIPWAY_ASSIGN(Manifest parsed, Manifest::parse(text));
  auto manifest = std::make_shared<const Manifest>(std::move(parsed));
  const std::lock_guard lock(mutex_);
  recent_.emplace_front(id, manifest);
  size_t files = 0;
  size_t kept = 0;
  for (auto entry = recent_.begin(); entry != recent_.end();) {
    files += entry->second->files().size();
    const bool fits = kept == 0 || (files <= kRecentFiles && kept < kRecentManifests);
    ++kept;
    entry = fits ? std::next(entry) : recent_.erase(entry);
  }
  return manifest;
}

Result<OpenContent> Datasets::open(const WorkspaceName& workspace, const Manifest& manifest,
                                   const std::string& path) {
  const File* file = manifest.find(path);
  if (file == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("the dataset has no file '{}'", shown(path)),
                "slipway data files shows what it has");
  const Source& source = manifest.source_of(*file);
  if (source.kind == SourceKind::kHttp)
    return fail(ErrorCode::kUnsupported,
                fmt::format("the file '{}' is read from its own server, not from here", shown(path)));
  if (source.kind == SourceKind::kWorkspace) {
    SLIPWAY_ASSIGN(blobs::OpenBlob blob, blobs_.open(*file->digest));
    return OpenContent{.fd = std::move(blob.fd), .size = blob.size, .tag = file->digest->hex()};
  }
  SLIPWAY_ASSIGN(const SourceAccess access, datastores_.access(workspace, source));
  SLIPWAY_ASSIGN(const auto folder, FolderDatastore::open(access.location));
  SLIPWAY_ASSIGN(const Object object, folder->stat(file->key));
  if (object.size != file->size)
    return fail(ErrorCode::kConflict,
                fmt::format("the file '{}' of the datastore '{}' is not the one of this version any more: it "
                            "had {} bytes and has {}",
                            shown(file->key), source.datastore, file->size, object.size),
                "put the file back, or create the dataset again for a new version");
  SLIPWAY_ASSIGN(UniqueFd fd, folder->open_file(file->key));
  return OpenContent{.fd = std::move(fd), .size = object.size, .tag = file->digest->hex()};
}

Status Datasets::read(const WorkspaceName& workspace, const Manifest& manifest, const File& file,
                      const Range& range, const Sink& sink) {
  const Source& source = manifest.source_of(file);
  if (source.kind == SourceKind::kHttp && source.datastore.empty()) {
    SLIPWAY_ASSIGN(const Url url, parse_url(source.location + file.key));
    SLIPWAY_TRY(HttpFiles().read(url, range, file.tag, sink));
    return {};
  }
  if (source.kind == SourceKind::kHttp) {
    SLIPWAY_ASSIGN(const OpenDatastore opened, datastores_.open(workspace, source.datastore));
    SLIPWAY_TRY(opened.store->read(file.key, range, file.tag, sink));
    return {};
  }
  SLIPWAY_ASSIGN(const OpenContent content, open(workspace, manifest, file.path));
  uint64_t at = std::min(range.offset, content.size);
  const uint64_t end = at + std::min(range.length, content.size - at);
  std::vector<char> buffer(std::clamp<uint64_t>(end - at, 1, kPiece));
  while (at < end) {
    const ssize_t count = ::pread(content.fd.get(), buffer.data(),
                                  std::min<uint64_t>(buffer.size(), end - at), static_cast<off_t>(at));
    if (count <= 0) return fail(errno_error(errno, fmt::format("read {}", shown(file.path))));
    SLIPWAY_TRY(sink({buffer.data(), static_cast<size_t>(count)}));
    at += static_cast<uint64_t>(count);
  }
  return {};
}

Result<std::string> Datasets::read_beginning(const WorkspaceName& workspace, const Manifest& manifest,
                                             const File& file, uint64_t bytes) {
  std::string text;
  SLIPWAY_TRY(
      read(workspace, manifest, file, {.offset = 0, .length = bytes}, [&](std::string_view piece) -> Status {
        text += piece;
        return {};
      }));
  return text;
}

Status Datasets::refuse_if_used(store::Reader& reader, const WorkspaceName& workspace,
                                const VersionRecord& record) {
  SLIPWAY_ASSIGN(const auto active, active_runs_using(reader, workspace, record.name, record.version));
  if (active.empty()) return {};
  std::vector<std::string> names;
  names.reserve(active.size());
  for (const RunId& run : active) names.push_back(run.str());
  return fail(ErrorCode::kConflict, fmt::format("{} is used by {}", to_text(record), fmt::join(names, ", ")),
              "wait for them, or cancel them first");
}

Status Datasets::remove(const WorkspaceName& workspace, const std::string& ref) {
  SLIPWAY_ASSIGN(const DatasetRef parsed, parse_dataset_ref(ref));
  return database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const VersionRecord found, find_version(writer, workspace, parsed));
    std::vector<VersionRecord> versions{found};
    if (!parsed.version) {
      SLIPWAY_ASSIGN(versions, list_versions(writer, workspace, parsed.name, INT64_MAX, INT64_MAX));
    }
    for (const VersionRecord& record : versions) SLIPWAY_TRY(refuse_if_used(writer, workspace, record));
    for (const VersionRecord& record : versions) SLIPWAY_TRY(delete_version(writer, workspace, record));
    return {};
  });
}

Result<VersionRecord> Datasets::label(const WorkspaceName& workspace, const std::string& ref,
                                      const std::map<std::string, std::optional<std::string>>& tags,
                                      const std::optional<std::string>& description) {
  SLIPWAY_ASSIGN(const DatasetRef parsed, parse_dataset_ref(ref));
  VersionRecord record;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(record, find_version(writer, workspace, parsed));
    for (const auto& [key, value] : tags) {
      if (value) {
        record.tags[key] = *value;
      } else {
        record.tags.erase(key);
      }
    }
    if (description) record.description = *description;
    SLIPWAY_TRY(check_labels(record.tags, record.description));
    return update_labels(writer, workspace, record);
  }));
  return record;
}

}  // namespace slipway::data
