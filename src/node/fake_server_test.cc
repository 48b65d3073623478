#include <fmt/format.h>

#include "blobs/pack.h"
#include "node/agent_fixture.h"

namespace slipway::node {
namespace {

void for_each_record(std::string_view bytes, const std::function<void(const journal::Record&)>& visit) {
  while (!bytes.empty()) {
    const auto parsed = journal::parse_record(bytes);
    ASSERT_TRUE(parsed && *parsed) << "the stored journal holds something that is no record";
    visit((*parsed)->record);
    bytes.remove_prefix((*parsed)->size);
  }
}

http::Response ok(const json::object& answer = {}) {
  return http::json_response(answer);
}

}  // namespace

// All orders from the first one on, to every new stream.
class FakeOrders final : public http::EventSource {
 public:
  explicit FakeOrders(FakeServer& server) : server_(server) {}
  Result<std::vector<http::Event>> next() override {
    const std::lock_guard lock(server_.mutex_);
    std::vector<http::Event> fresh(server_.events_.begin() + static_cast<ptrdiff_t>(sent_),
                                   server_.events_.end());
    sent_ = server_.events_.size();
    return fresh;
  }
  bool ended() const override {
    const std::lock_guard lock(server_.mutex_);
    return server_.streams_end_;
  }
  std::vector<std::string> topics() const override { return {"orders"}; }

 private:
  FakeServer& server_;
  size_t sent_ = 0;
};

std::string Told::log() const {
  std::string text;
  for_each_record(journal, [&](const journal::Record& record) {
    if (record.kind == journal::Kind::kLog) text += journal::parse_log(record.payload)->bytes;
  });
  return text;
}

std::vector<std::string> Told::phases() const {
  std::vector<std::string> phases;
  for_each_record(journal, [&](const journal::Record& record) {
    if (record.kind == journal::Kind::kPhase)
      phases.emplace_back(parse_json_object(record.payload, "a phase")->at("phase").as_string());
  });
  return phases;
}

std::optional<ExitStatus> Told::exit() const {
  std::optional<ExitStatus> exit;
  uint64_t last = 0;
  for_each_record(journal, [&](const journal::Record& record) {
    EXPECT_EQ(record.sequence, last + 1);
    last = record.sequence;
    if (record.kind == journal::Kind::kExit)
      exit = *exit_status_from_json(*parse_json_object(record.payload, "an exit"));
  });
  return exit;
}

FakeServer::FakeServer() {
  add_routes();
  add_blob_routes();
}

FakeServer::~FakeServer() {
  stop();
}

void FakeServer::start(uint16_t port) {
  http::ServerOptions options;
  options.port = port;
  streams_end_ = false;
  server_ = std::make_unique<http::Server>(options, router_, *this, notifier_);
  const Status started = server_->start();
  ASSERT_TRUE(started) << started.error().message;
  port_ = server_->port();
}

void FakeServer::stop() {
  if (server_ == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    streams_end_ = true;
  }
  notifier_.notify("orders");
  server_->stop();
  server_.reset();
}

std::string FakeServer::url() const {
  return fmt::format("http://127.0.0.1:{}", port_);
}

void FakeServer::order(const AttemptOrder& order) {
  with([&] { orders_[order.key] = order; });
  send_start(order.key);
}

void FakeServer::send(const std::string& event, const json::object& data) {
  with([&] { events_.push_back({std::to_string(events_.size() + 1), event, json::serialize(data)}); });
  notifier_.notify("orders");
}

Told FakeServer::told(const AttemptKey& key) {
  const std::lock_guard lock(mutex_);
  return told_[key];
}

bool FakeServer::wait_until(const AttemptKey& key, const std::function<bool(const Told&)>& holds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return holds(told_[key]); });
}

std::string FakeServer::add_snapshot(const std::map<std::string, std::string>& files) {
  std::vector<snapshot::Entry> entries;
  for (const auto& [path, content] : files) {
    const Digest digest = Digest::of(content);
    blobs[digest.hex()] = content;
    entries.push_back({path, path.ends_with(".sh") ? 0755 : 0644, content.size(), digest});
  }
  const auto manifest = snapshot::Manifest::from_entries(std::move(entries)).value();
  snapshots_[manifest.id().hex()] = manifest.text();
  return manifest.id().hex();
}

Result<http::Caller> FakeServer::authorise(const http::Request& request, http::Access needed) {
  const std::lock_guard lock(mutex_);
  const std::string expected = needed == http::Access::kNode ? "Bearer node-token" : "Bearer run-token";
  if (refuses_node || request.header("authorization") != expected)
    return fail(ErrorCode::kUnauthenticated, "there is no such token");
  if (away) return fail(ErrorCode::kUnavailable, "the server is ill");
  return http::Caller{};
}

http::Handler FakeServer::about_attempt(
    std::function<Result<http::Response>(const http::Request&, const AttemptKey&)> handler) {
  return [this, handler = std::move(handler)](const http::Request& request) -> Result<http::Response> {
    const AttemptKey key{.run = RunId(request.param("run")),
                         .attempt = std::stoi(request.param("attempt")),
                         .rank = std::stoi(request.param("rank"))};
    const std::lock_guard lock(mutex_);
    if (stale.contains(key)) return fail(ErrorCode::kStale, "that attempt is over");
    auto answer = handler(request, key);
    changed_.notify_all();
    return answer;
  };
}

Result<http::Response> FakeServer::take_journal(const http::Request& request, const AttemptKey& key) {
  std::string& stored = told_[key].journal;
  ++told_[key].journal_posts;
  const auto offset = static_cast<size_t>(*request.query_int("offset", 0, 0, INT64_MAX));
  if (offset > stored.size()) return fail(ErrorCode::kConflict, "the journal is not stored so far");
  std::string_view fresh = request.body;
  fresh.remove_prefix(std::min(fresh.size(), stored.size() - offset));
  if (keeps_half && !fresh.empty()) fresh = fresh.substr(0, (*journal::parse_record(fresh))->size);
  stored += fresh;
  if (lose_answers > 0) {
    --lose_answers;
    return fail(ErrorCode::kUnavailable, "the answer is lost");
  }
  return ok({{"acked", stored.size()}});
}

Result<http::Response> FakeServer::take_files(const http::Request& request, const AttemptKey& key) {
  const auto body = parse_json_object(request.body, "files").value();
  for (const json::value& item : body.at("files").as_array()) {
    const OutputFile file = output_file_from_json(item.as_object()).value();
    if (!blobs.contains(file.digest)) return fail(ErrorCode::kConflict, "its content is not here");
    told_[key].files[file.path] = file.digest;
  }
  for (const json::value& item : body.at("skipped").as_array())
    told_[key].skipped[std::string(item.at("path").as_string())] = std::string(item.at("why").as_string());
  return ok();
}

void FakeServer::add_routes() {
  using enum http::Method;
  constexpr auto kNode = http::Access::kNode;
  const std::string node = "/api/v1/nodes/{node}";
  const std::string attempt = node + "/attempts/{run}/{attempt}/{rank}";
  router_.add({kPost, node + "/register", kNode, [this](const http::Request&) -> Result<http::Response> {
                 with([&] { ++registrations; });
                 return ok({{"heartbeat_seconds", 0.1}});
               }});
  router_.add(
      {kPost, node + "/heartbeat", kNode, [this](const http::Request& request) -> Result<http::Response> {
         const auto body = parse_json_object(request.body, "a heartbeat").value();
         const std::lock_guard lock(mutex_);
         ++heartbeats;
         last_held.clear();
         for (const json::value& item : body.at("attempts").as_array())
           last_held.push_back(attempt_key_from_json(item.as_object()).value());
         json::array to_kill;
         for (const AttemptKey& key : kill) to_kill.push_back(to_json(key));
         return ok({{"kill", to_kill}, {"cancel", json::array()}, {"drain", drain}});
       }});
  router_.add({kGet, node + "/orders", kNode, [this](const http::Request&) -> Result<http::Response> {
                 return http::event_response(std::make_shared<FakeOrders>(*this));
               }});
  router_.add({kPost, attempt + "/claim", kNode,
               about_attempt([this](const http::Request&, const AttemptKey& key) -> Result<http::Response> {
                 ++told_[key].claims;
                 if (!orders_.contains(key)) return fail(ErrorCode::kNotFound, "there is no such attempt");
                 return http::json_response(to_json(orders_.at(key)));
               })});
  router_.add({kPost, attempt + "/journal", kNode,
               about_attempt([this](const http::Request& request, const AttemptKey& key) {
                 return take_journal(request, key);
               }),
               http::BodyMode::kBuffered, 32 << 20});
  router_.add({kGet, attempt + "/journal", kNode,
               about_attempt([this](const http::Request&, const AttemptKey& key) -> Result<http::Response> {
                 return ok({{"acked", told_[key].journal.size()}});
               })});
  router_.add({kPost, attempt + "/files", kNode,
               about_attempt([this](const http::Request& request, const AttemptKey& key) {
                 return take_files(request, key);
               })});
  router_.add(
      {kPost, attempt + "/failed", kNode,
       about_attempt([this](const http::Request& request, const AttemptKey& key) -> Result<http::Response> {
         told_[key].failed = parse_json_object(request.body, "a failure")->at("reason").as_string();
         return ok();
       })});
  router_.add({kPost, attempt + "/finished", kNode,
               about_attempt([this](const http::Request&, const AttemptKey& key) -> Result<http::Response> {
                 ++told_[key].finished;
                 return ok();
               })});
}

void FakeServer::add_blob_routes() {
  using enum http::Method;
  constexpr auto kRun = http::Access::kRun;
  const std::string workspace = "/api/v1/workspaces/{workspace}";
  router_.add({kPost, workspace + "/blobs/missing", kRun,
               [this](const http::Request& request) -> Result<http::Response> {
                 const auto body = parse_json_object(request.body, "digests").value();
                 json::array missing;
                 const std::lock_guard lock(mutex_);
                 for (const json::value& digest : body.at("digests").as_array()) {
                   if (!blobs.contains(std::string(digest.as_string())))
                     missing.push_back({{"digest", digest}, {"offset", 0}});
                 }
                 return ok({{"missing", missing}});
               }});
  router_.add({kPut, workspace + "/blobs/{digest}", kRun,
               [this](const http::Request& request) -> Result<http::Response> {
                 if (Digest::of(request.body).hex() != request.param("digest"))
                   return fail(ErrorCode::kInvalidArgument, "these bytes have another digest");
                 with([&] { blobs[request.param("digest")] = request.body; });
                 return ok();
               },
               http::BodyMode::kBuffered, 64 << 20});
  router_.add({kPost, workspace + "/blobs/pack", kRun,
               [this](const http::Request& request) -> Result<http::Response> {
                 struct Sink final : blobs::PackSink {
                   Status begin(const Digest& digest, uint64_t) override {
                     current = &(*into)[digest.hex()];
                     return {};
                   }
                   Status bytes(std::string_view bytes) override {
                     *current += bytes;
                     return {};
                   }
                   Status end() override { return {}; }
                   std::map<std::string, std::string>* into = nullptr;
                   std::string* current = nullptr;
                 } sink;
                 const std::lock_guard lock(mutex_);
                 sink.into = &blobs;
                 blobs::PackParser parser(sink, 1 << 30);
                 SLIPWAY_TRY(parser.feed(request.body));
                 return ok();
               },
               http::BodyMode::kBuffered, 64 << 20});
  router_.add({kGet, workspace + "/snapshots/{snapshot}", kRun,
               [this](const http::Request& request) -> Result<http::Response> {
                 const std::lock_guard lock(mutex_);
                 const auto found = snapshots_.find(request.param("snapshot"));
                 if (found == snapshots_.end())
                   return fail(ErrorCode::kNotFound, "there is no such snapshot");
                 return http::text_response(found->second);
               }});
  router_.add({kPost, workspace + "/snapshots/{snapshot}/pack", kRun,
               [this](const http::Request& request) -> Result<http::Response> {
                 const auto body = parse_json_object(request.body, "digests").value();
                 std::string pack;
                 const std::lock_guard lock(mutex_);
                 ++packs_asked;
                 for (const json::value& hex : body.at("digests").as_array()) {
                   const std::string& content = blobs.at(std::string(hex.as_string()));
                   pack +=
                       blobs::pack_header(Digest::parse(hex.as_string()).value(), content.size()) + content;
                 }
                 http::Response response = http::text_response(std::move(pack));
                 response.content_type = "application/octet-stream";
                 return response;
               }});
}

}  // namespace slipway::node
