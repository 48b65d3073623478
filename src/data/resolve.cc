#include "data/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <thread>

#include "data/http_files.h"
#include "data/operations.h"
#include "data/shown.h"
#include "data/url.h"
#include "snapshot/glob.h"
#include "snapshot/parallel.h"

namespace slipway::data {
namespace {

constexpr size_t kBuffer = 256 << 10;
// Files are waited for, not only worked on: more threads than cores, so that a slow disk is kept busy.
constexpr unsigned kThreadsForEachCore = 4;
constexpr unsigned kMostThreads = 16;
constexpr size_t kMostConnections = 8;
constexpr std::string_view kWildcards = "*?[";

// A file before its content is known. The manifest's path is its place in the layout.
struct Found {
  File file;
  std::string refused = {};
  std::string item = {};  // the path of the definition that led to it, when that must be asked for its size
};

std::unexpected<Error> nothing_at(const std::string& item) {
  return fail(ErrorCode::kNotFound, fmt::format("the path '{}' yields no file", shown(item)),
              "look at the path: slipway datastore ls shows what a datastore has");
}

// Trouble with the user's own data is no question of the user's role here.
Error as_source_error(Error error) {
  if (error.code == ErrorCode::kPermissionDenied || error.code == ErrorCode::kUnauthenticated)
    error.code = ErrorCode::kInvalidArgument;
  return error;
}

// The folder before the first wildcard, with its '/'; empty: the datastore itself.
std::string folder_before_wildcard(std::string_view pattern) {
  const std::string_view fixed = pattern.substr(0, pattern.find_first_of(kWildcards));
  return std::string(fixed.substr(0, fixed.rfind('/') + 1));
}

class Resolver {
 public:
  Resolver(const Definition& definition, const OpenByName& open, unsigned threads)
      : definition_(definition), open_(open), threads_(threads) {
    if (threads_ == 0)
      threads_ = std::clamp(kThreadsForEachCore * std::thread::hardware_concurrency(), 1U, kMostThreads);
  }

  Result<Manifest> run() {
    for (const std::string& item : definition_.paths) SLIPWAY_TRY(find(item));
    SLIPWAY_TRY(ask_addresses());
    SLIPWAY_TRY(choose());
    SLIPWAY_TRY(hash());
    std::vector<File> files;
    files.reserve(found_.size());
    for (Found& found : found_) files.push_back(std::move(found.file));
    return Manifest::make(std::move(sources_), std::move(files));
  }

 private:
  uint32_t source_index(Source source, std::shared_ptr<Datastore> store) {
    const auto known = std::ranges::find(sources_, source);
    if (known != sources_.end()) return static_cast<uint32_t>(known - sources_.begin());
    sources_.push_back(std::move(source));
    stores_.push_back(std::move(store));
    return static_cast<uint32_t>(sources_.size() - 1);
  }

  bool nested() const { return definition_.paths.size() > 1; }

  Status find(const std::string& item) {
    SLIPWAY_ASSIGN(const DataPath path, parse_data_path(item));
    if (path.is_url) return find_address(path.path);
    SLIPWAY_ASSIGN(const OpenDatastore opened, open_(path.datastore));
    const uint32_t source =
        source_index({.kind = opened.store->kind(), .datastore = opened.name}, opened.store);
    const size_t before = found_.size();
    const Status found = find_in(*opened.store, opened.name, source, path.path);
    if (!found) return fail(as_source_error(found.error()));
    if (found_.size() == before) return nothing_at(item);
    return {};
  }

  Status find_address(const std::string& address) {
    SLIPWAY_ASSIGN(const Url url, parse_url(address));
    File file{.path = nested() ? layout_of(url) : file_name_of(url)};
    file.source = source_index({.kind = SourceKind::kHttp, .location = url.server()}, nullptr);
    file.key = url.target;
    found_.push_back({.file = std::move(file), .item = address});
    return {};
  }

  Status find_in(Datastore& store, const std::string& name, uint32_t source, const std::string& path) {
    const bool pattern = path.find_first_of(kWildcards) != std::string::npos;
    // A name may have a bracket in it; a star is always a wildcard.
    if (!path.empty() && !path.contains('*')) {
      auto object = store.stat(path);
      if (object) {
        add(std::move(*object), name, source, path.substr(0, path.rfind('/') + 1));
        return {};
      }
      if (object.error().code != ErrorCode::kNotFound || store.kind() == SourceKind::kHttp)
        return fail(object.error());
    }
    const std::string folder = pattern ? folder_before_wildcard(path) : path.empty() ? "" : path + "/";
    const snapshot::Glob glob(path, snapshot::Slashes::kSeparator);
    return list_all(store, folder, [&](Object&& object) -> Status {
      if (pattern && !glob.matches(object.path)) return {};
      if (found_.size() == kMaxFiles)
        return fail(ErrorCode::kTooLarge, fmt::format("a dataset has at most {} files", kMaxFiles),
                    "pack small files into larger ones, or make several datasets");
      add(std::move(object), name, source, folder);
      return {};
    });
  }

  void add(Object object, const std::string& store, uint32_t source, std::string_view base) {
    std::string layout = nested() ? store + "/" + object.path : object.path.substr(base.size());
    Found found{.file = {.path = std::move(layout),
                         .size = object.size,
                         .digest = object.digest,
                         .tag = sources_[source].kind == SourceKind::kHttp ? std::move(object.tag) : "",
                         .source = source,
                         .key = std::move(object.path)},
                .refused = std::move(object.refused)};
    found_.push_back(std::move(found));
  }

  // Several at once: a server far away answers slowly.
  Status ask_addresses() {
    std::vector<Found*> waiting;
    for (Found& found : found_)
      if (!found.item.empty()) waiting.push_back(&found);
    std::vector<HttpFiles> readers(std::min(kMostConnections, waiting.size()));
    return snapshot::parallel_for(waiting.size(), readers.size(), [&](size_t worker, size_t i) -> Status {
      SLIPWAY_ASSIGN(const Url url, parse_url(waiting[i]->item));
      auto object = readers[worker].stat(url);
      if (!object) return fail(as_source_error(std::move(object).error()));
      waiting[i]->file.size = object->size;
      waiting[i]->file.tag = object->tag;
      waiting[i]->file.digest = object->digest;
      return {};
    });
  }

  // Sorts, drops what two paths led to, and applies the operations.
  Status choose() {
    std::ranges::sort(found_, {}, [](const Found& found) { return std::string_view(found.file.path); });
    const auto [rest, end] = std::ranges::unique(found_, [](const Found& one, const Found& other) {
      return one.file.path == other.file.path && one.file.source == other.file.source &&
             one.file.key == other.file.key;
    });
    found_.erase(rest, end);
    std::vector<Candidate> candidates;
    candidates.reserve(found_.size());
    for (uint32_t i = 0; i < found_.size(); ++i)
      candidates.push_back({.path = found_[i].file.path, .size = found_[i].file.size, .index = i});
    candidates = apply(definition_.operations, std::move(candidates));
    if (candidates.empty())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the operations leave none of {} files", found_.size()),
                  "look at the filters and counts");
    std::vector<Found> chosen;
    chosen.reserve(candidates.size());
    for (const Candidate& candidate : candidates) chosen.push_back(std::move(found_[candidate.index]));
    found_ = std::move(chosen);
    for (const Found& found : found_)
      if (!found.refused.empty())
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("the file '{}' cannot be used: {}", shown(found.file.key), found.refused),
                    "leave it out with a pattern or a filter, or put the file itself there");
    return {};
  }

  Status hash() {
    std::vector<Found*> unknown;
    for (Found& found : found_)
      if (!found.file.digest && found.file.tag.empty()) unknown.push_back(&found);
    std::vector<std::vector<char>> buffers(std::min<size_t>(threads_, unknown.size()));
    return snapshot::parallel_for(unknown.size(), buffers.size(), [&](size_t worker, size_t i) -> Status {
      if (buffers[worker].empty()) buffers[worker].resize(kBuffer);
      File& file = unknown[i]->file;
      auto object = stores_[file.source]->hash(file.key, buffers[worker]);
      if (!object) return fail(as_source_error(std::move(object).error()));
      file.size = object->size;
      file.digest = object->digest;
      return {};
    });
  }

  const Definition& definition_;
  const OpenByName& open_;
  unsigned threads_;
  std::vector<Source> sources_;
  std::vector<std::shared_ptr<Datastore>> stores_;  // by source; null for plain addresses
  std::vector<Found> found_;
};

}  // namespace

Result<Manifest> resolve(const Definition& definition, const OpenByName& open, unsigned threads) {
  return Resolver(definition, open, threads).run();
}

Result<Manifest> narrow(const Manifest& manifest, const std::vector<Operation>& operations) {
  std::vector<Candidate> candidates;
  candidates.reserve(manifest.files().size());
  for (uint32_t i = 0; i < manifest.files().size(); ++i)
    candidates.push_back({.path = manifest.files()[i].path, .size = manifest.files()[i].size, .index = i});
  candidates = apply(operations, std::move(candidates));
  if (candidates.empty())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the operations leave none of {} files", manifest.files().size()),
                "look at the filters and counts");
  std::vector<File> files;
  files.reserve(candidates.size());
  for (const Candidate& candidate : candidates) files.push_back(manifest.files()[candidate.index]);
  return Manifest::make(manifest.sources(), std::move(files));
}

}  // namespace slipway::data
