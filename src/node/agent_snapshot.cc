#include "node/agent_snapshot.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/file.h"
#include "blobs/pack.h"
#include "snapshot/tree.h"

namespace slipway::node {
namespace {

constexpr int kTries = 3;  // when other agents remove from the cache what was just found there

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
    const Status finished = writer_->finish();
    writer_.reset();
    // Wrong bytes are the transfer's fault: they are worth another try, unlike a wrong request.
    if (!finished && finished.error().code == ErrorCode::kInvalidArgument)
      return fail(ErrorCode::kUnavailable, finished.error().message);
    return finished;
  }

 private:
  data::FileCache& cache_;
  std::unordered_set<Digest> wanted_;
  std::unique_ptr<data::FileCache::Writer> writer_;
};

}  // namespace

Result<snapshot::Manifest> SnapshotPlacer::manifest(const AttemptOrder& order, http::Client& client) {
  SLIPWAY_ASSIGN(const Digest id, Digest::parse(order.job.snapshot));
  if (auto cached = cache_.read(id, snapshot::kMaxManifestText)) {
    auto parsed = snapshot::Manifest::parse(*cached);
    if (parsed && parsed->id() == id) return parsed;
  }
  http::Call call;
  call.target = ServerLink::workspace_target(order.workspace, fmt::format("snapshots/{}", id.hex()));
  SLIPWAY_ASSIGN(const http::ClientResponse answer, client.call(std::move(call)));
  SLIPWAY_ASSIGN(snapshot::Manifest manifest, snapshot::Manifest::parse(answer.body));
  if (manifest.id() != id)
    return fail(ErrorCode::kInternal, fmt::format("the server sent another snapshot than {}", id.hex()));
  SLIPWAY_TRY(cache_.put(id, manifest.text()));
  return manifest;
}

Status SnapshotPlacer::fetch_missing(const AttemptOrder& order, const snapshot::Manifest& manifest,
                                     http::Client& client) {
  std::unordered_set<Digest> missing;
  json::array digests;
  for (const snapshot::Entry& entry : manifest.entries()) {
    if (!cache_.holds(entry.digest, entry.size) && missing.insert(entry.digest).second)
      digests.emplace_back(entry.digest.hex());
  }
  if (missing.empty()) return {};
  CacheSink sink(cache_, std::move(missing));
  blobs::PackParser parser(sink, snapshot::kMaxTotalBytes);
  http::Call call;
  call.method = http::Method::kPost;
  call.target =
      ServerLink::workspace_target(order.workspace, fmt::format("snapshots/{}/pack", order.job.snapshot));
  call.body = json::serialize(json::object{{"digests", std::move(digests)}});
  call.sink = [&parser](std::string_view bytes) { return parser.feed(bytes); };
  SLIPWAY_ASSIGN(const http::ClientResponse answer, client.call(std::move(call)));
  if (Status whole = parser.finish(); !whole) return fail(ErrorCode::kUnavailable, whole.error().message);
  return {};
}

Result<snapshot::Manifest> SnapshotPlacer::fetch(const AttemptOrder& order, http::Client& client) {
  {
    std::unique_lock lock(mutex_);
    fetched_.wait(lock, [&] { return !fetching_.contains(order.job.snapshot); });
    fetching_.insert(order.job.snapshot);
  }
  auto manifest = this->manifest(order, client);
  const Status fetched = manifest ? fetch_missing(order, *manifest, client) : Status();
  {
    const std::lock_guard lock(mutex_);
    fetching_.erase(order.job.snapshot);
  }
  fetched_.notify_all();
  if (!fetched) return fail(fetched.error());
  return manifest;
}

Status SnapshotPlacer::place(const AttemptOrder& order, const std::filesystem::path& work) {
  if (order.job.snapshot.empty()) return {};
  ServerLink::Lease client = server_.borrow_as(order.run_token);
  for (int tries = 1; tries <= kTries; ++tries) {
    SLIPWAY_ASSIGN(const snapshot::Manifest manifest, fetch(order, *client));
    const Status written = snapshot::write_tree(manifest, work, [this](const snapshot::Entry& entry) {
      return cache_.open_file(entry.digest, entry.size);
    });
    cache_.trim();
    if (written || written.error().code != ErrorCode::kNotFound) return written;
  }
  return fail(
      ErrorCode::kUnavailable,
      fmt::format("the files of snapshot {} leave the cache as soon as they come", order.job.snapshot),
      "give the node's cache more room: cache_bytes in agent.json");
}

}  // namespace slipway::node
