// The address in ClientOptions::url, and a connection to it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace slipway::http {

struct Address {
  bool secure = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string authority;    // for the Host header: "127.0.0.1:7070"
  std::string socket_path;  // of a Unix socket, instead of host and port
  bool refuse_link_local = false;
};

// "http://host:port" or "https://host"; a single slash may follow. "unix:/path" for a socket of this machine.
// kInvalidArgument for anything else.
Result<Address> parse_address(std::string_view url);

// Connects to the first of the host's addresses that answers; the descriptor is non-blocking. A readable
// `interrupt_fd` ends it with kUnavailable; kUnreachable when nothing answers before the deadline.
Result<UniqueFd> connect_to(const Address& address, std::chrono::steady_clock::time_point deadline,
                            int interrupt_fd);

}  // namespace slipway::http
