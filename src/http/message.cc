#include "http/message.h"

#include <fmt/format.h>

#include <charconv>

#include "base/log.h"
#include "http/range.h"

namespace slipway::http {

std::string_view to_text(Access access) {
  switch (access) {
    case Access::kPublic: return "public";
    case Access::kReader: return "reader";
    case Access::kContributor: return "contributor";
    case Access::kOwner: return "owner";
    case Access::kAdmin: return "admin";
    case Access::kNode: return "node";
    case Access::kRun: return "run";
  }
  return "";
}

std::string_view to_text(Method method) {
  switch (method) {
    case Method::kGet: return "GET";
    case Method::kHead: return "HEAD";
    case Method::kPost: return "POST";
    case Method::kPut: return "PUT";
    case Method::kPatch: return "PATCH";
    case Method::kDelete: return "DELETE";
  }
  return "GET";
}

const std::string& Request::param(std::string_view name) const {
  const auto found = params.find(std::string(name));
  if (found == params.end()) abort_because(fmt::format("the route's pattern has no parameter '{}'", name));
  return found->second;
}

std::optional<std::string> Request::query_value(std::string_view name) const {
  const auto found = query.find(std::string(name));
  if (found == query.end()) return std::nullopt;
  return found->second;
}

Result<int64_t> Request::query_int(std::string_view name, int64_t fallback, int64_t min, int64_t max) const {
  const auto text = query_value(name);
  if (!text) return fallback;
  int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stopped != end || value < min || value > max)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the query parameter '{}' is not a whole number from {} to {}", name, min, max));
  return value;
}

std::optional<std::string> Request::header(std::string_view lower_case_name) const {
  const auto found = headers.find(lower_case_name);
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

Response json_response(const json::value& value, int status) {
  Response response;
  response.status = status;
  response.body = json::serialize(value);
  return response;
}

Response text_response(std::string text, int status) {
  Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(text);
  return response;
}

Response empty_response(int status) {
  Response response;
  response.status = status;
  response.content_type.clear();
  return response;
}

Response error_response(const Error& error) {
  Response response = json_response(to_json(error), http_status(error.code));
  if (response.status == 429 || response.status == 503) response.headers["Retry-After"] = "1";
  if (response.status == 507) response.headers["Retry-After"] = "10";
  if (response.status == 401) response.headers["WWW-Authenticate"] = "Bearer";
  return response;
}

Response event_response(std::shared_ptr<EventSource> source) {
  Response response;
  response.content_type = "text/event-stream";
  response.body = std::move(source);
  return response;
}

Response file_response(const Request& request, UniqueFd file, uint64_t size, std::string content_type,
                       std::string etag) {
  Response response;
  response.content_type = std::move(content_type);
  response.headers["Accept-Ranges"] = "bytes";
  const std::string quoted = etag.empty() ? "" : fmt::format("\"{}\"", etag);
  if (!quoted.empty()) {
    response.headers["ETag"] = quoted;
    if (request.header("if-none-match") == quoted) {
      response.status = 304;
      return response;
    }
  }
  // If-Range with another tag: the content is not the one the client has a part of, so it gets the whole.
  const auto condition = request.header("if-range");
  const bool part_wanted = !condition || (!quoted.empty() && *condition == quoted);
  const ByteRange range = parse_range(part_wanted ? request.header("range").value_or("") : "", size);
  if (range.kind == ByteRange::Kind::kUnsatisfiable) {
    Response refused =
        error_response({.code = ErrorCode::kInvalidArgument,
                        .message = fmt::format("the range lies outside of the {} bytes there are", size),
                        .next = "ask for a range within the content",
                        .detail = ""});
    refused.status = 416;
    refused.headers["Content-Range"] = fmt::format("bytes */{}", size);
    return refused;
  }
  if (range.kind == ByteRange::Kind::kPart) {
    response.status = 206;
    response.headers["Content-Range"] =
        fmt::format("bytes {}-{}/{}", range.offset, range.offset + range.length - 1, size);
  }
  response.body = std::make_shared<FileBody>(std::move(file), range.offset, range.length);
  return response;
}

}  // namespace slipway::http
