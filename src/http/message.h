// Requests and responses as handlers see them. Nothing of Beast or Asio appears here: those headers stay
// inside this folder's .cc files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/json.h"
#include "base/notifier.h"
#include "base/result.h"
#include "http/access.h"

namespace slipway::http {

enum class Method { kGet, kHead, kPost, kPut, kPatch, kDelete };
std::string_view to_text(Method method);

// A body that is too large to hold: the handler pulls it while the connection fills the next piece.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  // The next piece, valid until the next call; empty at the end. Blocks; fails when the peer goes away, is
  // too slow or sends more than the route's limit.
  virtual Result<std::string_view> next() = 0;
};

struct Request {
  Method method = Method::kGet;
  std::string path;                           // as sent, without the query
  std::map<std::string, std::string> params;  // from the route's pattern, percent-decoded once
  std::map<std::string, std::string> query;   // percent-decoded once; the last one of repeated keys
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;                                         // for routes with BodyMode::kBuffered
  BodyReader* stream = nullptr;  // for routes with BodyMode::kStreamed; null otherwise
  Caller caller;                 // who sent it, as the Authoriser found

  // A pattern parameter; the pattern guarantees that it is there.
  const std::string& param(std::string_view name) const;
  std::optional<std::string> query_value(std::string_view name) const;
  // A whole number from the query within the bounds, or `fallback` when absent.
  Result<int64_t> query_int(std::string_view name, int64_t fallback, int64_t min, int64_t max) const;
  std::optional<std::string> header(std::string_view lower_case_name) const;
};

struct Event {
  std::string id;  // what a client sends back as Last-Event-ID to go on after it
  std::string name;
  std::string data;  // one line or several
};

// A stream of events read from the store by position. Called on a worker thread, never concurrently.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // The events that are there now, oldest first, about 1 MiB at most; empty when there are none yet.
  virtual Result<std::vector<Event>> next() = 0;
  // True once `next` can never give more: the connection is then closed in order.
  virtual bool ended() const = 0;
  // The topics whose notification means that `next` may have something.
  virtual std::vector<std::string> topics() const = 0;
};

// A piece of an open file, sent with sendfile where the connection allows it.
struct FileBody {
  UniqueFd fd;
  uint64_t offset = 0;
  uint64_t length = 0;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::map<std::string, std::string> headers;
  // shared_ptr: owned by this response alone, shared only because responses are moved through std::function.
  std::variant<std::string, std::shared_ptr<FileBody>, std::shared_ptr<EventSource>> body;
};

Response json_response(const json::value& value, int status = 200);
Response text_response(std::string text, int status = 200);
Response empty_response(int status = 204);
Response error_response(const Error& error);
Response event_response(std::shared_ptr<EventSource> source);
// Answers Range (one range) with 206 or 416, else the whole; always with Accept-Ranges. `etag` may be empty.
Response file_response(const Request& request, UniqueFd file, uint64_t size, std::string content_type,
                       std::string etag);

}  // namespace slipway::http
