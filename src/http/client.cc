#include "http/client.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "http/connection.h"

namespace slipway::http {
namespace {

constexpr size_t kMaxBufferedAnswer = 256 << 20;

bool may_be_repeated(const Call& call) {
  if (call.source) return false;  // it has been read
  return (call.method != Method::kPost && call.method != Method::kPatch) ||
         call.headers.contains("Idempotency-Key");
}

bool is_printable(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
}

Status check_call(const Call& call) {
  bool good = call.target.starts_with('/') && !call.target.contains(' ') && is_printable(call.target) &&
              is_printable(call.content_type);
  for (const auto& [name, value] : call.headers)
    good = good && is_printable(name) && is_printable(value) && name.find_first_of(": ") == std::string::npos;
  if (good) return {};
  return fail(ErrorCode::kInvalidArgument,
              "the request has a character in its address or header that may not be there");
}

}  // namespace

class Client::Impl {
 public:
  explicit Impl(ClientOptions options)
      : options_(std::move(options)), interrupt_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  // Sends the call and reads the head of its answer.
  Status begin(const Call& call) {
    SLIPWAY_TRY(check_call(call));
    SLIPWAY_TRY(ensure_address());
    const std::string head = request_head(call);
    const bool reused = connection_ && connection_->reusable() && connection_->still_open();
    if (!reused) connection_.reset();
    Status outcome = attempt(head, call);
    // The kept connection was closed by the server just as this request went out: once more on a new one.
    const bool stale = reused && !outcome && outcome.error().code == ErrorCode::kUnavailable &&
                       !connection_->answer_begun() && !interrupted_;
    if (stale && may_be_repeated(call)) {
      connection_.reset();
      outcome = attempt(head, call);
    }
    if (!outcome) give_up();
    return outcome;
  }

  Result<ClientResponse> send(const Call& call) {
    SLIPWAY_TRY(begin(call));
    ClientResponse response;
    response.status = connection_->head().status;
    response.headers = connection_->head().headers;
    if (Status wanted = call.on_head ? call.on_head(response) : Status(); !wanted) {
      give_up();
      return fail(std::move(wanted).error());
    }
    const bool to_sink = call.sink && response.status / 100 == 2;
    for (;;) {
      auto piece = next_piece();
      Status taken = piece ? Status() : Status(std::unexpected(piece.error()));
      if (piece && piece->empty()) break;
      if (piece) taken = to_sink ? call.sink(*piece) : keep(response.body, *piece);
      if (taken) continue;
      give_up();
      return fail(std::move(taken).error());
    }
    if (!connection_->reusable()) connection_.reset();
    return response;
  }

  Status events(const std::string& target, const std::string& last_id,
                const std::function<bool(const Event&)>& on_event, std::chrono::milliseconds silence) {
    Call call;
    call.target = target;
    call.headers["Accept"] = "text/event-stream";
    if (!last_id.empty()) call.headers["Last-Event-ID"] = last_id;
    SLIPWAY_TRY(begin(call));
    const int status = connection_->head().status;
    if (status >= 400) {
      std::string body;
      for (;;) {
        const auto piece = next_piece();
        if (!piece || piece->empty() || !keep(body, *piece)) break;
      }
      give_up();
      return fail(error_from_json(body, status));
    }
    connection_->set_patience(silence);
    Status outcome = read_events(on_event);
    if (outcome && connection_ && connection_->reusable()) {
      connection_->set_patience(options_.answer_time);
    } else {
      give_up();
    }
    return outcome;
  }

  void interrupt() {
    interrupted_ = true;
    ::eventfd_write(interrupt_.get(), 1);
  }
  const ClientOptions& options() const { return options_; }

 private:
  Status ensure_address() {
    if (address_) return {};
    SLIPWAY_ASSIGN(Address address, parse_address(options_.url));
    if (address.secure) {
      SLIPWAY_ASSIGN(tls_, TlsContext::for_client(options_.ca_file));
    }
    if (options_.refuse_link_local && !address.socket_path.empty())
      return fail(ErrorCode::kInvalidArgument, "a Unix socket of this machine cannot be named here");
    address_ = std::move(address);
    address_->refuse_link_local = options_.refuse_link_local;
    return {};
  }

  Status attempt(const std::string& head, const Call& call) {
    if (!connection_) {
      SLIPWAY_ASSIGN(connection_,
                     Connection::open(*address_, tls_ ? &*tls_ : nullptr,
                                      {.connect = options_.connect_time, .answer = options_.answer_time},
                                      interrupt_.get()));
    }
    SLIPWAY_TRY(connection_->send(head, call));
    return connection_->read_head(call.method == Method::kHead);
  }

  std::string request_head(const Call& call) const {
    std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: slipway/{}\r\n",
                                   to_text(call.method), call.target, address_->authority, SLIPWAY_VERSION);
    if (!options_.token.empty()) head += fmt::format("Authorization: Bearer {}\r\n", options_.token.reveal());
    const uint64_t length = call.source ? call.source_length : call.body.size();
    const bool has_body = length > 0 || call.source || call.method == Method::kPost ||
                          call.method == Method::kPut || call.method == Method::kPatch;
    if (length > 0) head += fmt::format("Content-Type: {}\r\n", call.content_type);
    if (has_body) head += fmt::format("Content-Length: {}\r\n", length);
    for (const auto& [name, value] : call.headers) head += fmt::format("{}: {}\r\n", name, value);
    return head + "\r\n";
  }

  static Status keep(std::string& body, std::string_view piece) {
    if (body.size() + piece.size() > kMaxBufferedAnswer)
      return fail(ErrorCode::kTooLarge, "the server's answer is larger than 256 MiB");
    body += piece;
    return {};
  }

  // Ends in order, by `on_event`, or with what broke it.
  Status read_events(const std::function<bool(const Event&)>& on_event) {
    EventParser parser;
    bool wanted = true;
    while (wanted) {
      SLIPWAY_ASSIGN(const std::string_view piece, next_piece());
      if (piece.empty()) {
        if (connection_->head().until_eof) return fail(ErrorCode::kUnavailable, "the stream of events ended");
        return {};
      }
      SLIPWAY_TRY(parser.feed(piece, [&](const Event& event) { wanted = wanted && on_event(event); }));
    }
    return {};
  }

  // The next piece, unless the call has been interrupted: a stream that never makes us wait would not notice.
  Result<std::string_view> next_piece() {
    if (interrupted_) return fail(ErrorCode::kUnavailable, "the call was interrupted");
    return connection_->next_piece();
  }

  // Ends the connection, and the interrupt if that was the reason: it is for one call.
  void give_up() {
    connection_.reset();
    interrupted_ = false;
    eventfd_t count = 0;
    ::eventfd_read(interrupt_.get(), &count);
  }

  ClientOptions options_;
  UniqueFd interrupt_;
  std::atomic<bool> interrupted_ = false;
  std::optional<Address> address_;
  std::optional<TlsContext> tls_;
  std::unique_ptr<Connection> connection_;
};

Client::Client(ClientOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

// By value: callers give their call away, and may move it.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Result<ClientResponse> Client::send(Call call) {
  return impl_->send(call);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param)
Result<ClientResponse> Client::call(Call call) {
  SLIPWAY_ASSIGN(ClientResponse response, impl_->send(call));
  if (response.status >= 400) return fail(error_from_json(response.body, response.status));
  return response;
}

Result<json::value> Client::json_call(Method method, std::string target, const json::value* body,
                                      std::map<std::string, std::string> headers) {
  Call request;
  request.method = method;
  request.target = std::move(target);
  request.headers = std::move(headers);
  if (body != nullptr) request.body = json::serialize(*body);
  SLIPWAY_ASSIGN(const ClientResponse response, call(std::move(request)));
  if (response.body.empty()) return json::value();
  return parse_json(response.body, "the server's answer");
}

Status Client::events(const std::string& target, const std::string& last_id,
                      const std::function<bool(const Event&)>& on_event, std::chrono::milliseconds silence) {
  return impl_->events(target, last_id, on_event, silence);
}

void Client::interrupt() {
  impl_->interrupt();
}
const ClientOptions& Client::options() const {
  return impl_->options();
}

}  // namespace slipway::http
