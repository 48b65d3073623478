#include "http/hosts.h"

#include <algorithm>

namespace slipway::http {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// "[::1]:7070" -> "[::1]", "localhost:7070" -> "localhost".
std::string host_without_port(std::string_view host) {
  const size_t colon = host.rfind(':');
  const bool in_brackets = host.ends_with(']');
  return lower_case(colon == std::string_view::npos || in_brackets ? host : host.substr(0, colon));
}

}  // namespace

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

HostRule::HostRule(std::string_view address, std::vector<std::string> allowed) : hosts_(std::move(allowed)) {
  for (std::string& host : hosts_) host = lower_case(host);
  if (is_loopback(address)) {
    hosts_.insert(hosts_.end(), {"localhost", "127.0.0.1", "[::1]"});
  } else if (hosts_.empty()) {
    any_host_ = true;
  }
  hosts_.push_back(address.contains(':') ? "[" + std::string(address) + "]" : lower_case(address));
}

Status HostRule::check(const Head& head) const {
  const auto host = head.headers.find("host");
  if (host == head.headers.end()) {
    if (head.version < 11) return {};
    return fail(ErrorCode::kInvalidArgument, "the request has no Host header", "check the client");
  }
  if (!any_host_ && std::ranges::find(hosts_, host_without_port(host->second)) == hosts_.end())
    return fail(
        ErrorCode::kPermissionDenied, "this server does not answer to the host name of the request",
        "use http://127.0.0.1 or http://localhost with its port, or start the server with that host allowed");
  const auto origin = head.headers.find("origin");
  if (origin == head.headers.end()) return {};
  const size_t slashes = origin->second.find("://");
  if (slashes == std::string::npos ||
      lower_case(origin->second).substr(slashes + 3) != lower_case(host->second))
    return fail(ErrorCode::kPermissionDenied, "the request comes from a web page of another site",
                "open the page from this server itself");
  return {};
}

}  // namespace slipway::http
