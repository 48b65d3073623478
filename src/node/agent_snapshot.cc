#include "node/agent_snapshot.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/file.h"
#include "blobs/pack.h"
#include "snapshot/tree.h"

namespace slipway::node {
namespace {

constexpr int kTries = 3;  // when other agents remove from the cache what was just found there
// What the server packs into one answer is bounded: 64 MiB and 20,000 files.
constexpr uint64_t kLargestPacked = 8 << 20;
constexpr uint64_t kLargestPack = 32 << 20;
constexpr size_t kMostPacked = 10'000;

std::string target_of(const WorkspaceName& workspace, const std::string& digest) {
  return ServerLink::workspace_target(workspace, fmt::format("snapshots/{}", digest));
}

// Wrong bytes are the transfer's fault: they are worth another try, unlike a wrong request.
Status transferred(Status finished) {
  if (!finished && finished.error().code == ErrorCode::kInvalidArgument)
    return fail(ErrorCode::kUnavailable, finished.error().message);
  return finished;
}

// Puts the blobs of a pack into the cache, and takes none that was not asked for.
class CacheSink final : public blobs::PackSink {
 public:
  CacheSink(data::FileCache& cache, std::unordered_set<Digest> wanted)
      : cache_(cache), wanted_(std::move(wanted)) {}

  Status begin(const Digest& digest, uint64_t /*size*/) override {
    if (wanted_.erase(digest) == 0)
      return fail(ErrorCode::kInternal,
                  fmt::format("the server sent {}, which was not asked for", digest.hex()));
    SLIPWAY_ASSIGN(writer_, cache_.begin(digest));
    return {};
  }
  Status bytes(std::string_view bytes) override { return writer_->append(bytes); }
  Status end() override {
    Status finished = writer_->finish();
    writer_.reset();
    return transferred(std::move(finished));
  }

 private:
  data::FileCache& cache_;
  std::unordered_set<Digest> wanted_;
  std::unique_ptr<data::FileCache::Writer> writer_;
};

}  // namespace

Result<snapshot::Manifest> SnapshotPlacer::manifest(const WorkspaceName& workspace, const std::string& digest,
                                                    http::Client& client) {
  SLIPWAY_ASSIGN(const Digest id, Digest::parse(digest));
  if (auto cached = cache_.read(id, snapshot::kMaxManifestText)) {
    auto parsed = snapshot::Manifest::parse(*cached);
    if (parsed && parsed->id() == id) return parsed;
  }
  http::Call call;
  call.target = target_of(workspace, digest);
  SLIPWAY_ASSIGN(const http::ClientResponse answer, client.call(std::move(call)));
  SLIPWAY_ASSIGN(snapshot::Manifest manifest, snapshot::Manifest::parse(answer.body));
  if (manifest.id() != id)
    return fail(ErrorCode::kInternal, fmt::format("the server sent another snapshot than {}", id.hex()));
  cache_.offer(id, manifest.text());
  return manifest;
}

Status SnapshotPlacer::fetch_pack(const std::string& target, const std::vector<Digest>& digests,
                                  http::Client& client) {
  json::array wanted;
  for (const Digest& digest : digests) wanted.emplace_back(digest.hex());
  CacheSink sink(cache_, {digests.begin(), digests.end()});
  blobs::PackParser parser(sink, snapshot::kMaxTotalBytes);
  http::Call call;
  call.method = http::Method::kPost;
  call.target = target + "/pack";
  call.body = json::serialize(json::object{{"digests", std::move(wanted)}});
  call.sink = [&parser](std::string_view bytes) { return parser.feed(bytes); };
  SLIPWAY_ASSIGN(const http::ClientResponse answer, client.call(std::move(call)));
  if (Status whole = parser.finish(); !whole) return fail(ErrorCode::kUnavailable, whole.error().message);
  return {};
}

Status SnapshotPlacer::fetch_large(const std::string& target, const Digest& digest, http::Client& client) {
  SLIPWAY_ASSIGN(const auto writer, cache_.begin(digest));
  http::Call call;
  call.target = fmt::format("{}/blobs/{}", target, digest.hex());
  call.sink = [&writer](std::string_view bytes) { return writer->append(bytes); };
  SLIPWAY_ASSIGN(const http::ClientResponse answer, client.call(std::move(call)));
  return transferred(writer->finish());
}

Status SnapshotPlacer::fetch_missing(const std::string& target, const snapshot::Manifest& manifest,
                                     http::Client& client) {
  std::unordered_set<Digest> seen;
  std::vector<Digest> pack;
  uint64_t packed = 0;
  for (const snapshot::Entry& entry : manifest.entries()) {
    if (cache_.holds(entry.digest, entry.size) || !seen.insert(entry.digest).second) continue;
    if (entry.size > kLargestPacked) {
      SLIPWAY_TRY(fetch_large(target, entry.digest, client));
      continue;
    }
    if (packed + entry.size > kLargestPack || pack.size() == kMostPacked) {
      SLIPWAY_TRY(fetch_pack(target, pack, client));
      pack.clear();
      packed = 0;
    }
    pack.push_back(entry.digest);
    packed += entry.size;
  }
  return pack.empty() ? Status() : fetch_pack(target, pack, client);
}

Result<snapshot::Manifest> SnapshotPlacer::fetch(const WorkspaceName& workspace, const std::string& digest,
                                                 http::Client& client) {
  {
    std::unique_lock lock(mutex_);
    fetched_.wait(lock, [&] { return !fetching_.contains(digest); });
    fetching_.insert(digest);
  }
  auto manifest = this->manifest(workspace, digest, client);
  const Status fetched = manifest ? fetch_missing(target_of(workspace, digest), *manifest, client) : Status();
  {
    const std::lock_guard lock(mutex_);
    fetching_.erase(digest);
  }
  fetched_.notify_all();
  if (!fetched) return fail(fetched.error());
  return manifest;
}

Status SnapshotPlacer::place(const AttemptOrder& order, const std::string& digest,
                             const std::filesystem::path& folder) {
  if (digest.empty()) return {};
  ServerLink::Lease client = server_.borrow_as(order.run_token);
  for (int tries = 1; tries <= kTries; ++tries) {
    SLIPWAY_ASSIGN(const snapshot::Manifest manifest, fetch(order.workspace, digest, *client));
    const Status written = snapshot::write_tree(manifest, folder, [this](const snapshot::Entry& entry) {
      return cache_.open_file(entry.digest, entry.size);
    });
    cache_.trim();
    if (written || written.error().code != ErrorCode::kNotFound) return written;
  }
  return fail(ErrorCode::kUnavailable,
              fmt::format("the files of snapshot {} leave the cache as soon as they come", digest),
              "give the node's cache more room: cache_bytes in agent.json");
}

}  // namespace slipway::node
