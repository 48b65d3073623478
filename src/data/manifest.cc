#include "data/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "base/file.h"
#include "base/utf8.h"
#include "data/manifest_text.h"
#include "data/shown.h"

namespace slipway::data {
namespace {

std::unexpected<Error> bad(std::string_view path, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("the dataset's file '{}' {}", shown(path), why));
}

Status check_source(const Source& source) {
  const bool url = source.kind == SourceKind::kHttp && source.datastore.empty();
  if (!is_utf8(source.datastore) || !is_utf8(source.location) || source.datastore.size() > 255 ||
      source.location.size() > 4096 || url == source.location.empty() || (!url && source.datastore.empty()))
    return fail(ErrorCode::kInvalidArgument,
                "a source of a dataset needs the name of a datastore, or for plain URLs their server");
  return {};
}

// What a request line may hold: no blanks, no control characters, nothing beyond ASCII.
bool is_request_target(std::string_view key) {
  return key.starts_with('/') && key.size() <= 8192 &&
         std::ranges::all_of(key, [](char c) { return c > 0x20 && c < 0x7f; });
}

Status check_file(const File& file, const std::vector<Source>& sources) {
  if (!is_clean_relative_path(file.path)) return bad(file.path, "does not have a clean relative path");
  if (!is_utf8(file.path)) return bad(file.path, "has a path that is not UTF-8");
  if (file.source >= sources.size()) return bad(file.path, "has a source that is not there");
  const Source& source = sources[file.source];
  const bool plain_url = source.kind == SourceKind::kHttp && source.datastore.empty();
  if (plain_url ? !is_request_target(file.key) : !is_clean_relative_path(file.key) || !is_utf8(file.key))
    return bad(file.path, "has a key that its source cannot have");
  if (file.tag.size() > 1024 || !is_utf8(file.tag))
    return bad(file.path, "has an entity tag that is no text");
  if (file.size > kMaxTotalBytes) return bad(file.path, "is larger than a dataset may be");
  if (!file.digest && source.kind != SourceKind::kHttp) return bad(file.path, "has no digest");
  if (!file.digest && file.tag.empty()) return bad(file.path, "has neither a digest nor an entity tag");
  return {};
}

// `files` are sorted. "a" and "a/b" need not be neighbours ("a-c" comes between), hence the set. Only folders
// are looked up, each once as long as its files follow each other.
Status check_no_file_is_a_folder(const std::vector<File>& files) {
  std::unordered_set<std::string_view> paths;
  std::string_view last_folder;
  for (const File& file : files) {
    const std::string_view path = file.path;
    const size_t end = path.rfind('/');
    if (end == std::string_view::npos || path.substr(0, end) == last_folder) continue;
    last_folder = path.substr(0, end);
    if (paths.empty()) {
      paths.reserve(files.size());
      for (const File& each : files) paths.insert(each.path);
    }
    for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1))
      if (paths.contains(path.substr(0, slash)))
        return bad(path.substr(0, slash), "is a file and a folder at once");
  }
  return {};
}

// Keeps the sources that are used, in order, each once, and turns the files' indices to match: the same files
// have the same text however they were found.
void tidy_sources(std::vector<Source>& sources, std::vector<File>& files) {
  std::vector<bool> used(sources.size());
  for (const File& file : files) used[file.source] = true;
  std::vector<Source> kept;
  for (size_t i = 0; i < sources.size(); ++i)
    if (used[i]) kept.push_back(sources[i]);
  std::ranges::sort(kept);
  kept.erase(std::ranges::unique(kept).begin(), kept.end());
  std::vector<uint32_t> place(sources.size());
  for (size_t i = 0; i < sources.size(); ++i)
    if (used[i]) place[i] = static_cast<uint32_t>(std::ranges::lower_bound(kept, sources[i]) - kept.begin());
  for (File& file : files) file.source = place[file.source];
  sources = std::move(kept);
}

}  // namespace

std::string_view to_text(SourceKind kind) {
  switch (kind) {
    case SourceKind::kWorkspace: return "workspace";
    case SourceKind::kFolder: return "folder";
    case SourceKind::kHttp: return "http";
  }
  return "workspace";
}

Result<SourceKind> source_kind_from_text(std::string_view text) {
  for (const SourceKind kind : {SourceKind::kWorkspace, SourceKind::kFolder, SourceKind::kHttp})
    if (text == to_text(kind)) return kind;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is no kind of datastore; there are workspace, folder and http", shown(text)));
}

Manifest::Manifest() = default;

Manifest::Manifest(std::vector<Source> sources, std::vector<File> files)
    : sources_(std::move(sources)), files_(std::move(files)) {
  for (const File& file : files_) total_bytes_ += file.size;
}

Result<Manifest> Manifest::make(std::vector<Source> sources, std::vector<File> files) {
  if (files.size() > kMaxFiles || sources.size() > kMaxSources)
    return fail(ErrorCode::kTooLarge,
                fmt::format("the dataset has {} files from {} sources; at most {} from {} are taken",
                            files.size(), sources.size(), kMaxFiles, kMaxSources),
                "pack small files into larger ones, or make several datasets");
  for (const Source& source : sources) SLIPWAY_TRY(check_source(source));
  uint64_t total = 0;
  for (const File& file : files) {
    SLIPWAY_TRY(check_file(file, sources));
    total += file.size;  // each is at most 2^50, and the sum is looked at each time
    if (total > kMaxTotalBytes)
      return fail(ErrorCode::kTooLarge, fmt::format("the dataset is larger than {} bytes", kMaxTotalBytes));
  }
  if (!std::ranges::is_sorted(files, {}, &File::path)) std::ranges::sort(files, {}, &File::path);
  const auto twice = std::ranges::adjacent_find(files, {}, &File::path);
  if (twice != files.end()) return bad(twice->path, "stands there twice");
  SLIPWAY_TRY(check_no_file_is_a_folder(files));
  tidy_sources(sources, files);
  return Manifest(std::move(sources), std::move(files));
}

Result<Manifest> Manifest::parse(std::string_view text) {
  if (text.size() > kMaxManifestText)
    return fail(ErrorCode::kTooLarge, fmt::format("the manifest is longer than {} bytes", kMaxManifestText));
  SLIPWAY_ASSIGN(ManifestParts parts, read_manifest_text(text));
  SLIPWAY_ASSIGN(Manifest manifest, make(std::move(parts.sources), std::move(parts.files)));
  if (manifest.files().size() != parts.file_count || manifest.total_bytes() != parts.bytes ||
      manifest.text() != text)
    return fail(ErrorCode::kInvalidArgument, "the manifest is not in its canonical form");
  return manifest;
}

const File* Manifest::find(std::string_view path) const {
  const auto found =
      std::ranges::lower_bound(files_, path, {}, [](const File& f) { return std::string_view(f.path); });
  return found != files_.end() && found->path == path ? &*found : nullptr;
}

std::string Manifest::text() const {
  return write_manifest_text(sources_, files_, total_bytes_);
}

std::string_view to_text(Change change) {
  switch (change) {
    case Change::kAdded: return "added";
    case Change::kRemoved: return "removed";
    case Change::kModified: return "modified";
  }
  return "modified";
}

bool same_content(const File& one, const File& other) {
  if (one.size != other.size) return false;
  if (one.digest && other.digest) return *one.digest == *other.digest;
  return one.tag == other.tag;
}

std::vector<FileChange> diff(const Manifest& from, const Manifest& to) {
  std::vector<FileChange> changes;
  auto old_file = from.files().begin();
  const auto old_end = from.files().end();
  for (const File& file : to.files()) {
    for (; old_file != old_end && old_file->path < file.path; ++old_file)
      changes.push_back({.path = old_file->path, .change = Change::kRemoved});
    if (old_file == old_end || old_file->path != file.path) {
      changes.push_back({.path = file.path, .change = Change::kAdded});
      continue;
    }
    if (!same_content(*old_file, file)) changes.push_back({.path = file.path, .change = Change::kModified});
    ++old_file;
  }
  for (; old_file != old_end; ++old_file)
    changes.push_back({.path = old_file->path, .change = Change::kRemoved});
  return changes;
}

}  // namespace slipway::data
