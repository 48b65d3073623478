#include "http/outgoing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace slipway::http {
namespace {

constexpr size_t kJoinedBody = 32 << 10;

std::string_view reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 507: return "Insufficient Storage";
    default: return "Status";
  }
}

// A handler may put a name from a user into a field: a line end there would start a field of the user's own.
void append_value(std::string& out, std::string_view value) {
  for (const char c : value)
    out += (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f ? '_' : c;
}

bool bodiless(int status) {
  return status == 204 || status == 304;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

}  // namespace

std::string response_head(const Response& response, Framing framing, uint64_t length, bool keep_alive,
                          int version) {
  std::string head;
  head.reserve(256);
  fmt::format_to(std::back_inserter(head), "HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  if (!response.content_type.empty()) {
    head += "Content-Type: ";
    append_value(head, response.content_type);
    head += "\r\n";
  }
  bool caching_set = false;
  for (const auto& [name, value] : response.headers) {
    caching_set = caching_set || same_name(name, "cache-control");
    append_value(head, name);
    head += ": ";
    append_value(head, value);
    head += "\r\n";
  }
  head += "X-Content-Type-Options: nosniff\r\n";
  if (!caching_set) head += "Cache-Control: no-store\r\n";
  if (framing == Framing::kChunked) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (framing == Framing::kLength && !bodiless(response.status)) {
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", length);
  }
  if (!keep_alive) {
    head += "Connection: close\r\n";
  } else if (version == 10) {
    head += "Connection: keep-alive\r\n";
  }
  head += "\r\n";
  return head;
}

Outgoing::Outgoing(Response response, bool head_only, bool keep_alive, int version) {
  uint64_t length = 0;
  if (const auto* file = std::get_if<std::shared_ptr<FileBody>>(&response.body)) length = (*file)->length;
  if (const auto* text = std::get_if<std::string>(&response.body)) length = text->size();
  head_ = response_head(response, Framing::kLength, length, keep_alive, version);
  if (head_only || bodiless(response.status)) return;
  if (auto* file = std::get_if<std::shared_ptr<FileBody>>(&response.body)) file_ = std::move(*file);
  if (auto* text = std::get_if<std::string>(&response.body)) {
    if (text->size() <= kJoinedBody) {
      head_ += *text;
    } else {
      body_ = std::move(*text);
    }
  }
}

IoResult Outgoing::move_some(Channel& channel, size_t budget) {
  IoResult result;
  if (sent_ < head_.size()) {
    const bool more = body_sent_ < body_.size() || file_left() > 0;
    result = channel.write(std::string_view(head_).substr(sent_), more);
    sent_ += result.bytes;
  } else if (body_sent_ < body_.size()) {
    result = channel.write(std::string_view(body_).substr(body_sent_));
    body_sent_ += result.bytes;
  } else {
    const size_t length = std::min<uint64_t>(file_left(), std::max<size_t>(budget, 1));
    result = channel.send_file(file_->fd.get(), file_->offset, length);
    file_->offset += result.bytes;
    file_->length -= result.bytes;
    if (result.state == IoState::kClosed) {
      // The head has promised more than there is: only a broken connection tells the peer.
      log_error("http.file_shorter_than_announced", {{"missing_bytes", file_->length}});
      result.state = IoState::kBroken;
    }
  }
  return result;
}

IoState Outgoing::pump(Channel& channel, size_t budget) {
  if (broken_) return IoState::kBroken;
  size_t moved = 0;
  while (!done() && moved < budget) {
    const IoResult result = move_some(channel, budget - moved);
    broken_ = result.state == IoState::kBroken;
    if (result.state != IoState::kMoved) return result.state;
    moved += result.bytes;
  }
  return IoState::kMoved;
}

}  // namespace slipway::http
