#include "cli/listen.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>

#include "cli/quantities.h"

namespace slipway::cli {
namespace {

Result<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size())
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a port", printable(text, 32)),
                "use a number from 0 (any free one) to 65535");
  return port;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Status check_readable(const std::string& file, std::string_view option) {
  if (::access(file.c_str(), R_OK) == 0) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: cannot read {}: {}", option, printable(file), std::strerror(errno)),
              "name a PEM file that this user may read");
}

}  // namespace

Result<ListenAddress> parse_listen(std::string_view text) {
  ListenAddress address;
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    host = text.substr(1, close == std::string_view::npos ? close : close - 1);
    const std::string_view rest = close == std::string_view::npos ? "" : text.substr(close + 1);
    if (rest.starts_with(':')) port = rest.substr(1);
    if (close == std::string_view::npos || (!rest.empty() && port.empty())) host = "[";
  } else if (is_number(text)) {
    host = "";
    port = text;
  } else if (const size_t colon = text.find(':');
             colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  if (!port.empty()) {
    SLIPWAY_ASSIGN(address.port, parse_port(port));
  }
  address.host = host.empty() || host == "localhost" ? "127.0.0.1" : std::string(host);
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, address.host.c_str(), &v4) == 1) {
    address.loopback = (ntohl(v4.s_addr) >> 24) == 127;
  } else if (::inet_pton(AF_INET6, address.host.c_str(), &v6) == 1) {
    address.loopback = std::memcmp(&v6, &in6addr_loopback, sizeof v6) == 0;
  } else {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not an address to listen on", printable(text, 64)),
                "write an IP address and a port: 127.0.0.1:7070 or [::1]:7070");
  }
  return address;
}

Result<ServerSettings> server_settings(const UpOptions& options, std::filesystem::path home) {
  SLIPWAY_ASSIGN(const ListenAddress address, parse_listen(options.listen));
  if (options.tls_certificate.empty() != options.tls_key.empty())
    return fail(ErrorCode::kInvalidArgument, "TLS needs a certificate and its key",
                "give both --tls-cert and --tls-key");
  const bool tls = !options.tls_certificate.empty();
  if (!address.loopback && !tls)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} can be reached from other machines, and without TLS tokens and code would "
                            "cross the network readable",
                            options.listen),
                "give --tls-cert and --tls-key, or listen on 127.0.0.1");
  if (!address.loopback && options.auth == "none")
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("--auth none on {} would let anyone on the network run programs here", options.listen),
        "leave out --auth none, or listen on 127.0.0.1");
  if (tls) {
    SLIPWAY_TRY(check_readable(options.tls_certificate, "--tls-cert"));
    SLIPWAY_TRY(check_readable(options.tls_key, "--tls-key"));
  }
  return ServerSettings{.home = std::move(home),
                        .address = address.host,
                        .port = address.port,
                        .tls_certificate = options.tls_certificate,
                        .tls_key = options.tls_key,
                        .require_token = options.auth != "none",
                        .log_to_file = options.log_to_file,
                        .on_ready = {}};
}

}  // namespace slipway::cli
