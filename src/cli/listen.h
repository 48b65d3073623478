// What `--listen` and its neighbours mean, and which combinations are safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/cli.h"

namespace slipway::cli {

struct ListenAddress {
  std::string host;  // an IP address without brackets
  uint16_t port = kDefaultPort;
  bool loopback = true;
};

// Reads "127.0.0.1:7070", "127.0.0.1", ":7070", "7070", "localhost:7070" and "[::1]:7070".
Result<ListenAddress> parse_listen(std::string_view text);

struct UpOptions {
  std::string listen = "127.0.0.1";
  std::string tls_certificate;
  std::string tls_key;
  std::string auth = "token";
  bool detach = false;
  bool log_to_file = false;
};

// The settings these options ask for. kInvalidArgument for an address other machines can reach without TLS or
// without tokens, for half a pair of TLS files and for one that cannot be read.
Result<ServerSettings> server_settings(const UpOptions& options, std::filesystem::path home);

}  // namespace slipway::cli
