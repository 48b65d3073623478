// For this folder's tests: a real HTTP server with blobs and snapshots in memory, and faults on request.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/digest.h"
#include "client/connection.h"
#include "client/requests.h"
#include "http/server.h"
#include "snapshot/manifest.h"

namespace slipway::client {

class AcceptAll final : public http::Authoriser {
 public:
  Result<http::Caller> authorise(const http::Request& request, http::Access) override {
    if (request.header("authorization") != "Bearer good")
      return fail(ErrorCode::kUnauthenticated, "no such token");
    return http::Caller{};
  }
};

class FakeServer {
 public:
  FakeServer() { add_blob_routes(); }
  ~FakeServer() {
    if (server_) server_->stop();
  }

  void route(http::Method method, std::string pattern, http::Handler handler) {
    router_.add(http::Route(method, std::move(pattern), http::Access::kReader, counted(std::move(handler))));
  }

  void start(uint16_t port = 0) {
    http::ServerOptions options;
    options.port = port;
    options.workers = 8;
    server_ = std::make_unique<http::Server>(options, router_, authoriser_, notifier_);
    const Status started = server_->start();
    ASSERT_TRUE(started) << started.error().message;
  }
  void stop() {
    server_->stop();
    server_.reset();
  }
  uint16_t port() const { return server_->port(); }

  Connection connection() const {
    Connection connection;
    connection.http.url = "http://127.0.0.1:" + std::to_string(server_->port());
    connection.http.token = Secret("good");
    connection.workspace = "w";
    return connection;
  }
  static RetryPolicy quick() {
    return {.tries = 6,
            .first_wait = std::chrono::milliseconds(1),
            .longest_wait = std::chrono::milliseconds(20)};
  }

  // What the server holds; guarded by `mutex`.
  std::mutex mutex;
  std::map<std::string, std::string> blobs;
  std::map<std::string, std::string> partial;
  std::map<std::string, std::string> snapshots;

  // Faults and counts.
  std::atomic<int> requests = 0;
  std::atomic<int> fail_next = 0;    // this many requests answer 503
  std::atomic<int> cut_uploads = 0;  // this many uploads are broken off half-way, the bytes kept
  std::atomic<int> packs = 0;
  std::atomic<int> puts = 0;
  std::atomic<uint64_t> received = 0;

 private:
  http::Handler counted(http::Handler handler) {
    return [this, handler = std::move(handler)](const http::Request& request) -> Result<http::Response> {
      ++requests;
      if (fail_next > 0) {
        --fail_next;
        return fail(ErrorCode::kUnavailable, "not now");
      }
      return handler(request);
    };
  }

  void streamed(http::Method method, std::string pattern, http::Handler handler) {
    router_.add(http::Route(method, std::move(pattern), http::Access::kReader, counted(std::move(handler)),
                            http::BodyMode::kStreamed, 1ULL << 30));
  }

  static Result<std::string> read_all(const http::Request& request) {
    std::string body;
    while (true) {
      SLIPWAY_ASSIGN(const std::string_view piece, request.stream->next());
      if (piece.empty()) return body;
      body += piece;
    }
  }

  void add_blob_routes() {
    using http::Method;
    const std::string workspace = "/api/v1/workspaces/{workspace}";
    route(Method::kPost, workspace + "/blobs/missing", [this](const http::Request& r) { return missing(r); });
    streamed(Method::kPost, workspace + "/blobs/pack", [this](const http::Request& r) { return pack(r); });
    streamed(Method::kPut, workspace + "/blobs/{digest}", [this](const http::Request& r) { return put(r); });
    router_.add(http::Route(Method::kPost, workspace + "/snapshots", http::Access::kReader,
                            counted([this](const http::Request& r) { return manifest(r); }),
                            http::BodyMode::kBuffered, snapshot::kMaxManifestText));
  }

  Result<http::Response> missing(const http::Request& request) {
    SLIPWAY_ASSIGN(const json::object body, parse_json_object(request.body, "body"));
    json::array missing;
    const std::lock_guard lock(mutex);
    for (const json::value& digest : body.at("digests").as_array()) {
      const std::string hex(digest.as_string());
      if (!blobs.contains(hex))
        missing.push_back(json::object{{"digest", hex}, {"offset", partial[hex].size()}});
    }
    return http::json_response(json::object{{"missing", std::move(missing)}});
  }

  Result<http::Response> pack(const http::Request& request) {
    SLIPWAY_ASSIGN(const std::string body, read_all(request));
    ++packs;
    received += body.size();
    std::string_view left = body;
    const std::lock_guard lock(mutex);
    while (!left.empty()) {
      uint64_t size = 0;
      std::copy_n(left.data() + 32, 8, reinterpret_cast<char*>(&size));
      const std::string content(left.substr(40, size));
      const Digest digest = Digest::of(content);
      if (left.substr(0, 32) != std::string_view(reinterpret_cast<const char*>(digest.bytes().data()), 32))
        return fail(ErrorCode::kInvalidArgument, "the digest is another");
      blobs[digest.hex()] = content;
      left.remove_prefix(40 + size);
    }
    return http::json_response(json::object{{"stored", 1}});
  }

  Result<http::Response> put(const http::Request& request) {
    ++puts;
    const std::string& hex = request.param("digest");
    std::string content;
    {
      const std::lock_guard lock(mutex);
      content = partial[hex];
    }
    if (request.query_value("offset") != std::to_string(content.size()))
      return fail(ErrorCode::kConflict, "that is not what is held");
    const bool cut = cut_uploads > 0;
    if (cut) --cut_uploads;
    while (true) {
      SLIPWAY_ASSIGN(const std::string_view piece, request.stream->next());
      received += piece.size();
      content += piece;
      if (cut && !piece.empty()) {
        const std::lock_guard lock(mutex);
        partial[hex] = content;
        return fail(ErrorCode::kUnavailable, "cut off");
      }
      if (piece.empty()) break;
    }
    const std::lock_guard lock(mutex);
    partial.erase(hex);
    if (Digest::of(content).hex() != hex) return fail(ErrorCode::kInvalidArgument, "the digest is another");
    blobs[hex] = std::move(content);
    return http::json_response(json::object{{"digest", hex}}, 201);
  }

  Result<http::Response> manifest(const http::Request& request) {
    SLIPWAY_ASSIGN(const snapshot::Manifest manifest, snapshot::Manifest::parse(request.body));
    const std::lock_guard lock(mutex);
    for (const snapshot::Entry& entry : manifest.entries())
      if (!blobs.contains(entry.digest.hex()))
        return fail(ErrorCode::kConflict, "lacks " + entry.digest.hex());
    snapshots[manifest.id().hex()] = manifest.text();
    return http::json_response(json::object{{"snapshot", manifest.id().hex()}}, 201);
  }

  AcceptAll authoriser_;
  Notifier notifier_;
  http::Router router_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace slipway::client
