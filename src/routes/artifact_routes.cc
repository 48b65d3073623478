// Blobs going in, snapshots going in and out. Blobs are read only through what names them: a run's file, a
// snapshot's.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "blobs/pack.h"
#include "routes/request.h"
#include "routes/services.h"
#include "runs/job_models.h"
#include "runs/run_table.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::BodyMode;
using http::Method;
using http::Request;
using http::Response;

constexpr size_t kMostDigests = 20'000;
constexpr uint64_t kLargestBlob = 1ULL << 40;
constexpr uint64_t kLargestPackedBlob = 8 << 20;
constexpr uint64_t kLargestPack = 256 << 20;
constexpr uint64_t kLargestPackAnswer = 64 << 20;
// An upload holds its blob for a day; by then a snapshot or a run has claimed it.
constexpr Duration kLease = std::chrono::hours(24);

Result<std::vector<Digest>> digests_of(const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the list of digests"));
  std::vector<std::string> texts;
  JsonFields fields(body, "the list of digests");
  fields.required("digests", texts);
  SLIPWAY_TRY(fields.finish());
  if (texts.size() > kMostDigests)
    return fail(ErrorCode::kTooLarge, fmt::format("at most {} digests at once", kMostDigests),
                "ask in several requests");
  std::vector<Digest> digests;
  for (const std::string& text : texts) {
    SLIPWAY_ASSIGN(const Digest digest, Digest::parse(text));
    digests.push_back(digest);
  }
  return digests;
}

Status lease(Services& services, const Request& request, const std::vector<Digest>& digests) {
  const WorkspaceName workspace = workspace_of(request);
  const Timestamp until{services.clock.now().micros + kLease.count()};
  return services.database.write([&](store::Writer& writer) -> Status {
    for (const Digest& digest : digests)
      SLIPWAY_TRY(blobs::add_upload(writer, services.blobs, digest, workspace, until));
    return {};
  });
}

Result<Response> missing(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const auto digests, digests_of(request));
  std::vector<Digest> lacking;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(lacking, blobs::missing(reader, workspace_of(request), digests));
    return {};
  }));
  json::array items;
  for (const Digest& digest : lacking)
    items.push_back(json::object{{"digest", digest.hex()}, {"offset", services.blobs.partial_size(digest)}});
  return http::json_response(json::object{{"missing", std::move(items)}});
}

Result<Response> upload(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Digest digest, Digest::parse(request.param("digest")));
  SLIPWAY_ASSIGN(const int64_t offset, request.query_int("offset", 0, 0, INT64_MAX));
  SLIPWAY_ASSIGN(auto writer, services.blobs.begin(digest));
  if (writer->offset() != static_cast<uint64_t>(offset)) {
    const uint64_t held = writer->offset();
    writer->suspend();
    return fail(ErrorCode::kConflict,
                fmt::format("{} bytes of this blob are held, the upload goes on at {}", held, offset),
                fmt::format("send from ?offset={}", held));
  }
  while (true) {
    auto piece = request.stream->next();
    if (!piece) {
      writer->suspend();  // what has come stays for the next try
      return fail(std::move(piece).error());
    }
    if (piece->empty()) break;
    SLIPWAY_TRY(writer->append(*piece));
  }
  const uint64_t size = writer->offset();
  SLIPWAY_TRY(writer->finish());
  SLIPWAY_TRY(lease(services, request, {digest}));
  return http::json_response(json::object{{"digest", digest.hex()}, {"size", size}}, 201);
}

Result<Response> upload_pack(Services& services, const Request& request) {
  blobs::PackReceiver receiver(services.blobs);
  blobs::PackParser parser(receiver, kLargestPackedBlob);
  while (true) {
    SLIPWAY_ASSIGN(const std::string_view piece, request.stream->next());
    if (piece.empty()) break;
    SLIPWAY_TRY(parser.feed(piece));
  }
  SLIPWAY_TRY(parser.finish());
  SLIPWAY_TRY(receiver.finish());
  SLIPWAY_TRY(lease(services, request, receiver.stored()));
  return http::json_response(json::object{{"stored", receiver.stored().size()}});
}

Result<Response> add_snapshot(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const auto manifest, snapshot::Manifest::parse(request.body));
  SLIPWAY_TRY(services.snapshots.add(workspace_of(request), manifest));
  return http::json_response(json::object{{"snapshot", manifest.id().hex()},
                                          {"files", manifest.entries().size()},
                                          {"bytes", manifest.total_bytes()}},
                             201);
}

// The snapshot of the path. A job may read its own, and those of the models it is given.
Result<snapshot::Manifest> manifest_of(Services& services, const Request& request) {
  const std::string& digest = request.param("snapshot");
  if (request.caller.kind == http::CallerKind::kRun) {
    bool own = false;
    SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(const runs::Run run, runs::load_run(reader, request.caller.run));
      SLIPWAY_ASSIGN(const bool given, runs::is_given(reader, run, digest));
      own = given || run.job.snapshot == digest;
      return {};
    }));
    if (!own)
      return fail(ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'", digest.substr(0, 64)));
  }
  return services.snapshots.load(workspace_of(request), digest);
}

Result<Response> show_snapshot(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const auto manifest, manifest_of(services, request));
  http::Response response = http::text_response(manifest.text());
  response.content_type = "application/json";
  return response;
}

bool holds(const snapshot::Manifest& manifest, const Digest& digest) {
  return std::any_of(manifest.entries().begin(), manifest.entries().end(),
                     [&](const snapshot::Entry& entry) { return entry.digest == digest; });
}

Result<Response> pack_snapshot(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const auto manifest, manifest_of(services, request));
  SLIPWAY_ASSIGN(auto digests, digests_of(request));
  std::vector<Digest> known;
  for (const snapshot::Entry& entry : manifest.entries()) known.push_back(entry.digest);
  std::sort(known.begin(), known.end());
  std::string bytes;
  for (const Digest& digest : digests) {
    if (!std::binary_search(known.begin(), known.end(), digest))
      return fail(ErrorCode::kNotFound,
                  fmt::format("the snapshot has no file with the digest {}", digest.hex()));
    SLIPWAY_ASSIGN(const auto blob, services.blobs.open(digest));
    if (bytes.size() + blob.size > kLargestPackAnswer)
      return fail(ErrorCode::kTooLarge,
                  fmt::format("these files have more than {} MiB together", kLargestPackAnswer >> 20),
                  "ask for fewer at once, and for large ones by themselves");
    bytes += blobs::pack_header(digest, blob.size);
    const size_t at = bytes.size();
    bytes.resize(at + blob.size);
    if (::pread(blob.fd.get(), bytes.data() + at, blob.size, 0) != static_cast<ssize_t>(blob.size))
      return fail(errno_error(errno, "read a blob"));
  }
  Response response;
  response.content_type = "application/octet-stream";
  response.body = std::move(bytes);
  return response;
}

Result<Response> snapshot_blob(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const auto manifest, manifest_of(services, request));
  SLIPWAY_ASSIGN(const Digest digest, Digest::parse(request.param("digest")));
  if (!holds(manifest, digest))
    return fail(ErrorCode::kNotFound,
                fmt::format("the snapshot has no file with the digest {}", digest.hex()));
  SLIPWAY_ASSIGN(auto blob, services.blobs.open(digest));
  return http::file_response(request, std::move(blob.fd), blob.size, "application/octet-stream",
                             digest.hex());
}

}  // namespace

std::vector<RouteRow> artifact_routes() {
  const std::string workspace = "/api/v1/workspaces/{workspace}";
  return {
      {Method::kPost, workspace + "/blobs/missing", Access::kRun, missing},
      {Method::kPut, workspace + "/blobs/{digest}", Access::kRun, upload, BodyMode::kStreamed, kLargestBlob},
      {Method::kPost, workspace + "/blobs/pack", Access::kRun, upload_pack, BodyMode::kStreamed,
       kLargestPack},
      {Method::kPost, workspace + "/snapshots", Access::kRun, add_snapshot, BodyMode::kBuffered,
       snapshot::kMaxManifestText},
      {Method::kGet, workspace + "/snapshots/{snapshot}", Access::kRun, show_snapshot},
      {Method::kPost, workspace + "/snapshots/{snapshot}/pack", Access::kRun, pack_snapshot},
      {Method::kGet, workspace + "/snapshots/{snapshot}/blobs/{digest}", Access::kRun, snapshot_blob},
  };
}

}  // namespace slipway::routes
