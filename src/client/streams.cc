#include "client/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/base64.h"

namespace slipway::client {
namespace {

bool may_come_back(ErrorCode code) {
  return code == ErrorCode::kUnreachable || code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout ||
         code == ErrorCode::kExhausted;
}

}  // namespace

Result<LogPiece> parse_log_piece(std::string_view data) {
  SLIPWAY_ASSIGN(const json::object object, parse_json_object(data, "a piece of the log"));
  LogPiece piece;
  std::string base64;
  JsonFields fields(object, "a piece of the log");
  fields.required("offset", piece.offset);
  fields.optional("channel", piece.channel);
  fields.optional("text", piece.bytes);
  fields.optional("base64", base64);
  SLIPWAY_TRY(fields.finish_lenient());
  if (!base64.empty()) {
    SLIPWAY_ASSIGN(piece.bytes, from_base64(base64));
  }
  return piece;
}

Follower::Follower(Connection connection, FollowOptions options)
    : connection_(std::move(connection)), options_(std::move(options)) {}

void Follower::stop() {
  std::shared_ptr<http::Client> client;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    client = client_;
  }
  stop_changed_.notify_all();
  if (client) client->interrupt();
}

// False: stopped.
bool Follower::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !stop_changed_.wait_for(lock, time, [&] { return stopped_; });
}

Status Follower::follow(const std::string& target, std::string last_id,
                        const std::function<bool(const http::Event&)>& on_event) {
  using Clock = std::chrono::steady_clock;
  std::chrono::milliseconds pause = options_.first_wait;
  Clock::time_point away_since = Clock::now();
  bool there = true;
  bool first = true;
  while (true) {
    std::shared_ptr<http::Client> client;
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return {};
      client = client_ = std::make_shared<http::Client>(connection_.http);
    }
    Status ended = client->events(target, last_id, [&](const http::Event& event) {
      if (!there && options_.on_contact) options_.on_contact(true);
      there = true;
      pause = options_.first_wait;
      if (!event.id.empty()) last_id = event.id;
      return on_event(event);
    });
    {
      const std::lock_guard lock(mutex_);
      client_.reset();
      if (stopped_) return {};
    }
    if (ended) return {};
    // Nothing there from the beginning is a mistake; later it is a restart.
    const bool hopeless = first && ended.error().code == ErrorCode::kUnreachable;
    if (hopeless || !may_come_back(ended.error().code))
      return fail(connection_.explain(std::move(ended).error()));
    if (there) {
      away_since = Clock::now();
      if (!first && options_.on_contact) options_.on_contact(false);
      there = false;
    }
    first = false;
    if (Clock::now() - away_since > options_.patience)
      return fail(connection_.explain(std::move(ended).error()));
    if (!wait(pause)) return {};
    pause = std::min(pause * 2, options_.longest_wait);
    connection_.look_again();
  }
}

Status Follower::follow_log(const std::string& target, uint64_t offset,
                            const std::function<bool(const LogPiece&)>& on_piece) {
  std::optional<Error> error;
  uint64_t position = offset;
  const auto on_event = [&](const http::Event& event) {
    if (event.name != "log") return true;
    auto piece = parse_log_piece(event.data);
    if (!piece) {
      error = std::move(piece).error();
      return false;
    }
    // What a broken connection had brought already is passed over.
    const uint64_t known = position > piece->offset ? position - piece->offset : 0;
    if (known >= piece->bytes.size()) return true;
    if (piece->offset > position) {
      error = Error{
          .code = ErrorCode::kInternal,
          .message = fmt::format("the log has a gap: {} bytes after {}", piece->offset - position, position),
          .next = "read it again from the beginning",
          .detail = ""};
      return false;
    }
    piece->bytes.erase(0, known);
    piece->offset += known;
    position = piece->offset + piece->bytes.size();
    return on_piece(*piece);
  };
  SLIPWAY_TRY(follow(target, offset == 0 ? "" : std::to_string(offset), on_event));
  if (error) return fail(*error);
  return {};
}

}  // namespace slipway::client
