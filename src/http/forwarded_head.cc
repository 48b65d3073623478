#include "http/forwarded_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>

namespace slipway::http {
namespace {

constexpr std::array<std::string_view, 9> kOfOneConnection{
    "connection",        "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te",
    "transfer-encoding", "upgrade",    "content-length"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

// Cheaper than formatting: every request and every answer comes by here.
void append_all(std::string& out, const std::convertible_to<std::string_view> auto&... parts) {
  (out.append(std::string_view(parts)), ...);
}

bool is_any(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view other) { return same_name(name, other); });
}

// Whether the Connection field names it.
bool is_listed(std::string_view name, std::string_view list) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view token = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    while (token.starts_with(' ') || token.starts_with('\t')) token.remove_prefix(1);
    while (token.ends_with(' ') || token.ends_with('\t')) token.remove_suffix(1);
    if (same_name(name, token)) return true;
  }
  return false;
}

// Appends the fields of `raw` but for those that stay here.
void append_fields(std::string& out, std::string_view raw, const Head& head,
                   std::span<const std::string_view> dropped) {
  std::string_view listed;
  if (const auto connection = head.headers.find("connection"); connection != head.headers.end())
    listed = connection->second;
  raw.remove_prefix(std::min(raw.size(), raw.find("\r\n") + 2));  // the first line
  while (!raw.empty() && !raw.starts_with("\r\n")) {
    const size_t end = raw.find("\r\n");
    if (end == std::string_view::npos) break;
    const std::string_view line = raw.substr(0, end);
    raw.remove_prefix(end + 2);
    const std::string_view name = line.substr(0, line.find(':'));
    if (is_any(name, kOfOneConnection) || is_any(name, dropped) ||
        (!listed.empty() && is_listed(name, listed)))
      continue;
    out += line;
    out += "\r\n";
  }
}

void append_framing(std::string& out, BodyFraming framing) {
  if (framing.chunked)
    out += "Transfer-Encoding: chunked\r\n";
  else if (framing.length)
    append_all(out, "Content-Length: ", fmt::format_int(*framing.length).c_str(), "\r\n");
}

}  // namespace

bool has_folded_field(std::string_view raw) {
  return raw.contains("\r\n ") || raw.contains("\r\n\t");
}

std::string forwarded_request(std::string_view raw, const Head& head, const Passage& passage,
                              BodyFraming framing) {
  constexpr std::array<std::string_view, 5> kDropped{"host", "authorization", "expect", "x-request-id",
                                                     "trailer"};
  const Upstream& upstream = *passage.upstream;
  std::string out;
  out.reserve(raw.size() + 256);
  const bool six = upstream.host.contains(':');
  append_all(out, head.method, " ", passage.target, " HTTP/1.1\r\nHost: ", six ? "[" : "", upstream.host,
             six ? "]:" : ":", fmt::format_int(upstream.port).c_str(), "\r\n");
  append_fields(out, raw, head, kDropped);
  if (!upstream.key.empty()) append_all(out, "Authorization: Bearer ", upstream.key.reveal(), "\r\n");
  append_all(out, "X-Request-Id: ", passage.request_id, "\r\n");
  append_framing(out, framing);
  out += "\r\n";
  return out;
}

std::string forwarded_answer(std::string_view raw, const Head& head, const std::string& request_id,
                             AnswerFraming framing) {
  constexpr std::array<std::string_view, 2> kDropped{"x-request-id", "trailer"};
  std::string out;
  out.reserve(raw.size() + 128);
  const std::string_view first = raw.substr(0, raw.find("\r\n"));
  append_all(out, "HTTP/1.1", first.substr(std::min<size_t>(8, first.size())), "\r\n");
  append_fields(out, raw, head, kDropped);
  append_all(out, "X-Request-Id: ", request_id, "\r\n");
  append_framing(out, framing.body);
  if (!framing.keep_alive)
    out += "Connection: close\r\n";
  else if (framing.version == 10)
    out += "Connection: keep-alive\r\n";
  out += "\r\n";
  return out;
}

}  // namespace slipway::http
