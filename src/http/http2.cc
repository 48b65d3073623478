#include "http/http2.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <tuple>

#include "base/log.h"
#include "http/grpc.h"
#include "http/http2_stream.h"
#include "http/shard.h"

namespace slipway::http {
namespace {

constexpr uint32_t kStreams = 256;
constexpr size_t kUnderWay = 1024;  // with those that were reset while their handler ran
constexpr int32_t kStreamWindow = 1 << 20;
constexpr int32_t kConnectionWindow = 16 << 20;
constexpr uint32_t kFrame = 256 << 10;
constexpr uint64_t kPassedBody = 64 << 20;
constexpr size_t kGathered = 64 << 10;  // bytes to send in one go

nghttp2_nv field(std::string_view name, std::string_view value) {
  // nghttp2 takes no const here and copies both.
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NONE};
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace

// What nghttp2 calls. Everything it hands over belongs to the connection behind `user`.
struct Http2Callbacks {
  static Http2Connection& of(void* user) { return *static_cast<Http2Connection*>(user); }

  static Http2Connection::Stream* stream_of(nghttp2_session* session, int32_t id) {
    return static_cast<Http2Connection::Stream*>(::nghttp2_session_get_stream_user_data(session, id));
  }

  static int begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Connection& connection = of(user);
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    if (connection.running_ >= kUnderWay) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    auto stream = std::make_shared<Http2Connection::Stream>();
    stream->id = frame->hd.stream_id;
    stream->progress = std::chrono::steady_clock::now();
    ::nghttp2_session_set_stream_user_data(session, stream->id, stream.get());
    connection.streams_[stream->id] = std::move(stream);
    return 0;
  }

  static int header(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                    size_t name_size, const uint8_t* value, size_t value_size, uint8_t, void* user) {
    Http2Connection::Stream* stream = stream_of(session, frame->hd.stream_id);
    // Trailers of a request say nothing that is read here.
    if (stream == nullptr || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    return of(user).add_header(*stream, {reinterpret_cast<const char*>(name), name_size},
                               {reinterpret_cast<const char*>(value), value_size})
               ? 0
               : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int frame_received(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Http2Connection& connection = of(user);
    Http2Connection::Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
      connection.begin(*stream);
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      stream->complete = true;
      if (!stream->answered) connection.dispatch(connection.streams_.at(stream->id));
    }
    return 0;
  }

  static int data(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* bytes, size_t count,
                  void* user) {
    Http2Connection::Stream* stream = stream_of(session, id);
    if (stream != nullptr) of(user).add_body(*stream, {reinterpret_cast<const char*>(bytes), count});
    return 0;
  }

  // An answer that did not wait for the end of its request leaves nothing to be sent for.
  static int frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void*) {
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    const Http2Connection::Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream != nullptr && !stream->complete)
      ::nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
    return 0;
  }

  static int stream_closed(nghttp2_session*, int32_t id, uint32_t, void* user) {
    of(user).close(id);
    return 0;
  }

  static ssize_t read_body(nghttp2_session* session, int32_t id, uint8_t* into, size_t room, uint32_t* flags,
                           nghttp2_data_source* source, void*) {
    auto& stream = *static_cast<Http2Connection::Stream*>(source->ptr);
    const size_t count = std::min(room, stream.body.size() - stream.sent);
    std::copy_n(stream.body.data() + stream.sent, count, reinterpret_cast<char*>(into));
    stream.sent += count;
    stream.progress = std::chrono::steady_clock::now();
    if (stream.sent < stream.body.size()) return static_cast<ssize_t>(count);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!stream.trailers.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      std::vector<nghttp2_nv> fields;
      for (const auto& [name, value] : stream.trailers) fields.push_back(field(name, value));
      ::nghttp2_submit_trailer(session, id, fields.data(), fields.size());
    }
    return static_cast<ssize_t>(count);
  }

  static nghttp2_session* session_for(Http2Connection& connection) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session* session = nullptr;
    if (::nghttp2_session_callbacks_new(&callbacks) != 0) abort_because("there is no memory for HTTP/2");
    ::nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
    ::nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
    ::nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_received);
    ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data);
    ::nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frame_sent);
    ::nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, stream_closed);
    if (::nghttp2_session_server_new(&session, callbacks, &connection) != 0)
      abort_because("there is no memory for HTTP/2");
    ::nghttp2_session_callbacks_del(callbacks);
    return session;
  }
};

Http2Connection::Http2Connection(Site& site, Shard& shard, const std::string* door,
                                 std::function<void()> wake)
    : site_(site),
      shard_(shard),
      door_(door),
      wake_(std::move(wake)),
      session_(Http2Callbacks::session_for(*this)),
      quiet_since_(std::chrono::steady_clock::now()) {
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kStreams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kFrame},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(site_.options.limits.header_bytes)}};
  ::nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  ::nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

Http2Connection::~Http2Connection() {
  for (const auto& [id, stream] : streams_) leave(*stream, PassageEnd::kClientGone);
  ::nghttp2_session_del(session_);
}

bool Http2Connection::put(std::string_view bytes) {
  const ssize_t taken =
      ::nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return taken == static_cast<ssize_t>(bytes.size());
}

IoState Http2Connection::pump(Channel& channel) {
  for (;;) {
    if (out_sent_ == out_.size()) {
      out_.clear();
      out_sent_ = 0;
      const uint8_t* bytes = nullptr;
      ssize_t count = 0;
      while (out_.size() < kGathered && (count = ::nghttp2_session_mem_send(session_, &bytes)) > 0)
        out_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
      if (count < 0) return IoState::kBroken;
      if (out_.empty()) return IoState::kMoved;
    }
    const IoResult written = channel.write(std::string_view(out_).substr(out_sent_));
    if (written.state != IoState::kMoved) return written.state;
    out_sent_ += written.bytes;
  }
}

void Http2Connection::end() {
  ::nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, ::nghttp2_session_get_last_proc_stream_id(session_),
                          NGHTTP2_NO_ERROR, nullptr, 0);
}

bool Http2Connection::over() const {
  return ::nghttp2_session_want_read(session_) == 0 && ::nghttp2_session_want_write(session_) == 0 &&
         out_sent_ == out_.size();
}

Monotonic Http2Connection::deadline() const {
  const Limits& limits = site_.options.limits;
  Monotonic first = Monotonic::max();
  for (const auto& [id, stream] : streams_) {
    // One that is answered waits for its peer to take the answer.
    if (!stream->complete || stream->answered)
      first = std::min<Monotonic>(first, stream->progress + limits.progress_time);
  }
  return idle() ? quiet_since_ + limits.idle_time : first;
}

bool Http2Connection::add_header(Stream& stream, std::string_view name, std::string_view value) {
  stream.header_bytes += name.size() + value.size() + 32;
  if (stream.header_bytes > site_.options.limits.header_bytes) return false;
  if (name == ":method") {
    stream.head.method = value;
  } else if (name == ":path") {
    stream.head.target = value;
  } else if (name == ":authority") {
    stream.head.headers["host"] = value;
  } else if (!name.starts_with(':') && !(name == "host" && stream.head.headers.contains("host"))) {
    std::string& all = stream.head.headers[std::string(name)];
    all = all.empty() ? std::string(value) : fmt::format("{}, {}", all, value);
  }
  return true;
}

// The head of the request is there: finds the route, or answers why not.
void Http2Connection::begin(Stream& stream) {
  ++site_.requests;
  if (const Status ready = prepare(stream); !ready) refuse(stream, ready.error());
}

Status Http2Connection::prepare(Stream& stream) {
  Head& head = stream.head;
  Request& request = stream.request;
  const size_t question = head.target.find('?');
  request.path = head.target.substr(0, question);
  const Status host_fits = site_.hosts.check(head);
  request.headers = head.headers;
  SLIPWAY_TRY(host_fits);
  if (is_passed_on()) return choose(stream);
  const auto method = method_from_text(head.method);
  if (!method) return fail(ErrorCode::kUnsupported, "the method of the request is not known");
  request.method = *method;
  auto match = site_.router.find(*method, request.path);
  // To a caller of gRPC a path is a method, and one that is not there is not implemented.
  if (!match && is_grpc(request))
    return fail(ErrorCode::kUnsupported, fmt::format("there is no method {} here", request.path));
  if (!match) return fail(std::move(match).error());
  stream.route = match->route;
  request.params = std::move(match->params);
  if (question != std::string::npos) {
    SLIPWAY_ASSIGN(request.query, parse_query(std::string_view(head.target).substr(question + 1)));
  }
  if (stream.route->body == BodyMode::kStreamed) {
    stream.answered = true;
    ::nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_HTTP_1_1_REQUIRED);
    return {};
  }
  if (!stream.route->deferred) return {};
  SLIPWAY_ASSIGN(request.caller, site_.authoriser.authorise(request, stream.route->access));
  stream.authorised = true;
  return {};
}

void Http2Connection::add_body(Stream& stream, std::string_view bytes) {
  stream.progress = std::chrono::steady_clock::now();
  if (stream.answered) return;
  const uint64_t limit = stream.passage ? kPassedBody
                         : stream.authorised
                             ? stream.route->body_limit
                             : std::min<uint64_t>(stream.route->body_limit, kUnauthorisedBody);
  std::string& body = stream.request.body;
  if (body.size() + bytes.size() <= limit) {
    body.append(bytes);
    return;
  }
  body.clear();
  refuse(stream, {.code = ErrorCode::kTooLarge,
                  .message = fmt::format("the body is larger than the {} bytes this path takes", limit),
                  .next = "",
                  .detail = ""});
}

void Http2Connection::dispatch(const StreamPtr& stream) {
  ++running_;
  if (stream->passage) return shard_.spawn(forward(this, stream), "passage");
  if (!stream->route->deferred) return run_on_worker(stream);
  // Posted also on this thread: a handler may answer while nghttp2 is still reading.
  Answer answer = [this, stream = stream,
                   guard = asio::make_work_guard(shard_.executor())](Result<Response> response) mutable {
    const Executor back = guard.get_executor();
    asio::post(back, [this, stream = std::move(stream), guard = std::move(guard),
                      response = std::move(response)]() mutable { finish(stream, std::move(response)); });
  };
  stream->route->deferred(stream->request, shard_, std::move(answer));
}

void Http2Connection::run_on_worker(const StreamPtr& stream) {
  WorkerPool::Job job = [this, stream = stream,
                         guard = asio::make_work_guard(shard_.executor())](bool run) mutable {
    Result<Response> response =
        fail(ErrorCode::kUnavailable, "the server has more requests waiting than it can hold",
             "try again in a second");
    if (run) try {
        auto caller = site_.authoriser.authorise(stream->request, stream->route->access);
        if (caller) {
          stream->request.caller = std::move(*caller);
          response = stream->route->handler(stream->request);
        } else {
          response = fail(std::move(caller).error());
        }
      } catch (const std::exception& exception) {
        response = std::unexpected(Error{.code = ErrorCode::kInternal,
                                         .message = "the server failed to handle the request",
                                         .next = "try again; the server's log says more",
                                         .detail = exception.what()});
      }
    const Executor back = guard.get_executor();
    asio::post(back, [this, stream = std::move(stream), guard = std::move(guard),
                      response = std::move(response)]() mutable { finish(stream, std::move(response)); });
  };
  if (!site_.handlers.try_push(job)) job(false);
}

void Http2Connection::finish(const StreamPtr& stream, Result<Response> response) {
  --running_;
  if (stream->open && response) respond(*stream, std::move(*response));
  if (stream->open && !response) {
    if (http_status(response.error().code) == 500 && stream->route != nullptr)
      log_error("http.request_failed", {{"route", stream->route->pattern}, {"error", response.error()}});
    refuse(*stream, response.error());
  }
  wake_();
}

void Http2Connection::refuse(Stream& stream, const Error& error, int status) {
  Response response = is_grpc(stream.request) ? grpc_refusal(error) : error_response(error);
  if (status != 0) response.status = status;
  respond(stream, std::move(response));
}

void Http2Connection::respond(Stream& stream, Response response) {
  stream.answered = true;
  stream.progress = std::chrono::steady_clock::now();
  auto* body = std::get_if<std::string>(&response.body);
  if (body == nullptr) {
    ::nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_HTTP_1_1_REQUIRED);
    return;
  }
  std::map<std::string, std::string> fields{{"x-content-type-options", "nosniff"},
                                            {"cache-control", "no-store"}};
  if (!response.content_type.empty()) fields["content-type"] = response.content_type;
  for (const auto& [name, value] : response.headers) {
    const std::string lower = lower_case(name);
    const bool behind = lower.starts_with("grpc-") && !lower.ends_with("-encoding");
    (behind ? stream.trailers : fields)[lower] = value;
  }
  const bool no_body = body->empty() || stream.request.method == Method::kHead;
  // Without a body there is nothing for them to stand behind.
  if (no_body) fields.merge(stream.trailers);
  if (stream.trailers.empty() && !is_grpc(stream.request))
    fields["content-length"] = std::to_string(body->size());
  stream.body = std::move(*body);
  const std::string status = std::to_string(response.status);
  std::vector<nghttp2_nv> all{field(":status", status)};
  for (const auto& [name, value] : fields) all.push_back(field(name, value));
  nghttp2_data_provider provider{};
  provider.source.ptr = &stream;
  provider.read_callback = Http2Callbacks::read_body;
  ::nghttp2_submit_response(session_, stream.id, all.data(), all.size(), no_body ? nullptr : &provider);
}

void Http2Connection::close(int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = *found->second;
  stream.open = false;
  if (!stream.complete) leave(stream, PassageEnd::kClientGone);
  boost::system::error_code ignored;
  if (stream.upstream) std::ignore = stream.upstream->socket.cancel(ignored);
  streams_.erase(found);
  quiet_since_ = std::chrono::steady_clock::now();
}

}  // namespace slipway::http
