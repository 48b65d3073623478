#include "data/http_files.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <thread>

#include "base/utf8.h"

namespace slipway::data {
namespace {

constexpr int kMostRedirects = 5;
constexpr size_t kMostConnections = 8;
constexpr int kTries = 3;
constexpr std::chrono::milliseconds kFirstWait{200};

using http::ClientResponse;
using http::Method;

std::string header_of(const ClientResponse& answer, std::string_view name) {
  const auto found = answer.headers.find(name);
  return found == answer.headers.end() ? "" : found->second;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string tag_of(const ClientResponse& answer) {
  std::string tag = header_of(answer, "etag");
  if (tag.empty()) tag = header_of(answer, "last-modified");
  return to_valid_utf8(tag.substr(0, 1000));
}

Result<uint64_t> number_of(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ErrorCode::kInvalidArgument, "a length that is no number");
  return number;
}

// What an answer that brings no bytes means to whoever named the file.
std::unexpected<Error> refusal(const Url& url, int status) {
  const std::string shown = url.shown();
  switch (status) {
    case 401:
    case 403:
      return fail(ErrorCode::kPermissionDenied,
                  fmt::format("{} may not be read: its server answers {}", shown, status),
                  "give its datastore credentials: slipway datastore add NAME --url URL --credentials-file "
                  "FILE");
    case 404:
    case 410:
      return fail(ErrorCode::kNotFound,
                  fmt::format("there is no file {}: its server answers {}", shown, status),
                  "look at the address");
    default: break;
  }
  const bool passing = status >= 500 || status == 408 || status == 429;
  return fail(passing ? ErrorCode::kUnreachable : ErrorCode::kInvalidArgument,
              fmt::format("{} cannot be read: its server answers {}", shown, status),
              passing ? "try again later" : "look at the address");
}

// The errors of a connection, told about the file instead of about Slipway's server.
Error told_about(const Url& url, Error error) {
  if (error.code == ErrorCode::kUnreachable || error.code == ErrorCode::kTimeout) {
    error.message = fmt::format("{} cannot be reached: {}", url.shown(), error.message);
    error.next = "look at the address, and whether this machine can reach it";
    error.code = ErrorCode::kUnreachable;
  }
  return error;
}

std::string range_header(const Range& range) {
  if (range.length >= UINT64_MAX - range.offset) return fmt::format("bytes={}-", range.offset);
  return fmt::format("bytes={}-{}", range.offset, range.offset + range.length - 1);
}

// Ends a transfer that has brought what was wanted; whoever started it knows.
std::unexpected<Error> enough() {
  return fail(ErrorCode::kExhausted, "the rest of the answer is not wanted");
}

// Takes the answer to a request for a range, from servers that know ranges and from those that send the
// whole.
class RangeReader {
 public:
  RangeReader(const Url& url, const Range& range, const std::string& tag, const Sink& sink)
      : url_(url), range_(range), tag_(tag), sink_(sink), left_(range.length) {}

  const Object& object() const { return object_; }
  bool has_all() const { return left_ == 0; }

  Status take_head(const ClientResponse& answer) {
    object_.tag = tag_of(answer);
    if (answer.status != 200 && answer.status != 206) return {};
    if (!tag_.empty() && object_.tag != tag_)
      return fail(ErrorCode::kConflict, fmt::format("the file {} has changed", url_.shown()));
    if (answer.status == 200) {
      if (range_.part_only && range_.offset > 0)
        return fail(ErrorCode::kUnsupported, fmt::format("the server of {} gives no ranges", url_.shown()));
      skip_ = range_.offset;
      object_.size = number_of(header_of(answer, "content-length")).value_or(0);
      return {};
    }
    SLIPWAY_ASSIGN(const ContentRange given, parse_content_range(header_of(answer, "content-range")));
    if (given.offset != range_.offset)
      return fail(
          ErrorCode::kUnavailable,
          fmt::format("the server of {} answers with another range than was asked for", url_.shown()));
    object_.size = given.size;
    is_part_ = true;
    return {};
  }

  Status take(std::string_view bytes) {
    const size_t skipped = std::min<uint64_t>(skip_, bytes.size());
    skip_ -= skipped;
    bytes.remove_prefix(skipped);
    const std::string_view wanted = bytes.substr(0, std::min<uint64_t>(left_, bytes.size()));
    if (!wanted.empty()) SLIPWAY_TRY(sink_(wanted));
    left_ -= wanted.size();
    // A part ends by itself, and its connection stays; the rest of a whole is cut off.
    return left_ == 0 && (!is_part_ || wanted.size() < bytes.size()) ? Status(enough()) : Status();
  }

 private:
  const Url& url_;
  const Range& range_;
  const std::string& tag_;
  const Sink& sink_;
  Object object_;
  bool is_part_ = false;
  uint64_t skip_ = 0;
  uint64_t left_;
};

}  // namespace

Result<ContentRange> parse_content_range(std::string_view header) {
  const auto odd = [] { return fail(ErrorCode::kInvalidArgument, "the answer's range cannot be read"); };
  ContentRange range;
  if (!header.starts_with("bytes ")) return odd();
  header.remove_prefix(6);
  const size_t slash = header.find('/');
  if (slash == std::string_view::npos) return odd();
  const std::string_view part = header.substr(0, slash);
  const auto size = number_of(header.substr(slash + 1));
  if (!size) return odd();
  range.size = *size;
  if (part == "*") return range;
  const auto first = number_of(part.substr(0, part.find('-')));
  if (!first || !part.contains('-') || *first > range.size) return odd();
  range.offset = *first;
  return range;
}

http::Client& HttpFiles::client_of(const std::string& server) {
  if (const auto found = clients_.find(server); found != clients_.end()) return found->second;
  if (clients_.size() >= kMostConnections) clients_.clear();
  return clients_
      .emplace(server, http::Client({.url = server,
                                     .connect_time = std::chrono::seconds(10),
                                     .answer_time = std::chrono::seconds(30),
                                     .refuse_link_local = true}))
      .first->second;
}

Result<ClientResponse> HttpFiles::send(const Url& url, http::Call call) {
  Url at = url;
  const std::map<std::string, std::string> plain_headers = std::move(call.headers);
  const http::OnHead on_head = std::move(call.on_head);
  call.on_head = [&](const ClientResponse& head) -> Status {
    return on_head && !is_redirect(head.status) ? on_head(head) : Status();
  };
  for (int redirects = 0; redirects <= kMostRedirects; ++redirects) {
    call.target = at.target;
    call.headers = plain_headers;
    call.headers["Accept-Encoding"] = "identity";
    if (at.server() == server_)
      for (const auto& [name, value] : credentials_) call.headers[name] = value.reveal();
    auto answer = client_of(at.server()).send(call);
    if (!answer) return fail(told_about(url, std::move(answer).error()));
    if (!is_redirect(answer->status)) return answer;
    SLIPWAY_ASSIGN(at, follow_redirect(at, header_of(*answer, "location")));
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is redirected more than {} times", url.shown(), kMostRedirects),
              "name the file's own address");
}

// Some servers know no HEAD, or sign addresses for GET alone.
Result<Object> HttpFiles::ask_by_range(const Url& url) {
  http::Call call{.headers = {{"Range", "bytes=0-0"}}};
  ClientResponse head;
  call.on_head = [&](const ClientResponse& answer) -> Status {
    head = answer;
    return answer.status == 200 ? Status(enough()) : Status();
  };
  const auto answer = send(url, std::move(call));
  if (!answer && head.status != 200) return fail(answer.error());
  Object object{.tag = tag_of(head)};
  if (head.status == 206 || head.status == 416) {
    SLIPWAY_ASSIGN(const ContentRange range, parse_content_range(header_of(head, "content-range")));
    object.size = range.size;
    return object;
  }
  if (head.status != 200) return refusal(url, head.status);
  const auto length = number_of(header_of(head, "content-length"));
  if (!length) object.tag.clear();  // without a size, only its digest will tell
  object.size = length.value_or(0);
  return object;
}

Result<Object> HttpFiles::ask(const Url& url) {
  SLIPWAY_ASSIGN(const ClientResponse answer, send(url, {.method = Method::kHead}));
  if (answer.status == 200) {
    const auto length = number_of(header_of(answer, "content-length"));
    if (length) return Object{.size = *length, .tag = tag_of(answer)};
  }
  if (answer.status >= 500 && answer.status != 501) return refusal(url, answer.status);
  return ask_by_range(url);
}

Result<Object> HttpFiles::read_through(const Url& url) {
  Hasher hasher;
  uint64_t size = 0;
  SLIPWAY_ASSIGN(Object object, read(url, {}, "", [&](std::string_view bytes) -> Status {
                   hasher.update(bytes);
                   size += bytes.size();
                   return {};
                 }));
  object.size = size;
  object.digest = hasher.finish();
  return object;
}

Result<Object> HttpFiles::stat(const Url& url) {
  for (int failures = 0;; ++failures) {
    auto object = ask(url);
    if (object && object->tag.empty()) object = read_through(url);
    const bool again = !object && (object.error().code == ErrorCode::kUnreachable ||
                                   object.error().code == ErrorCode::kUnavailable);
    if (!again || failures + 1 == kTries) {
      if (!object && object.error().code == ErrorCode::kUnavailable) {
        Error error = object.error();
        error.code = ErrorCode::kUnreachable;
        error.message = fmt::format("{} cannot be read: {}", url.shown(), error.message);
        return fail(std::move(error));
      }
      return object;
    }
    std::this_thread::sleep_for(kFirstWait * (1 << failures));
  }
}

Result<Object> HttpFiles::read(const Url& url, const Range& range, const std::string& tag, const Sink& sink) {
  if (range.length == 0) return Object{};
  RangeReader reader(url, range, tag, sink);
  http::Call call;
  if (range.offset > 0 || range.length != UINT64_MAX) call.headers["Range"] = range_header(range);
  call.on_head = [&](const ClientResponse& answer) { return reader.take_head(answer); };
  call.sink = [&](std::string_view bytes) { return reader.take(bytes); };
  const auto answer = send(url, std::move(call));
  if (!answer && !reader.has_all()) return fail(answer.error());
  if (answer && answer->status != 200 && answer->status != 206 && answer->status != 416)
    return refusal(url, answer->status);
  return reader.object();
}

}  // namespace slipway::data
