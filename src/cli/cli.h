// The command line: parses, then either talks to a server through the client library or plays one of the
// roles that main.cc builds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"

namespace slipway::serving {
struct ServeSettings;
}

namespace slipway::cli {

constexpr uint16_t kDefaultPort = 7070;

// What `slipway up` and `slipway server` were asked for; already checked: an address other than loopback has
// TLS and tokens.
struct ServerSettings {
  std::filesystem::path home;
  std::string address = "127.0.0.1";
  uint16_t port = kDefaultPort;  // 0: any free one
  std::string tls_certificate;   // PEM file; empty: no TLS
  std::string tls_key;           // PEM file
  bool require_token = true;     // false: --auth none
  bool log_to_file = false;      // server.log in the home instead of stderr
  // Called once, from the serving thread, when requests are answered: "http://127.0.0.1:7070".
  std::function<void(const std::string& url)> on_ready;
};

// What the other sub-commands of this executable do. main.cc knows how; the command line only when. Each
// returns when its work is done (a server: after SIGTERM, SIGINT or `slipway down`).
struct Roles {
  // kConflict when another server holds the home, with its pid and address in the message.
  std::function<Status(const ServerSettings&)> run_server;
  std::function<Status(const std::filesystem::path& home, const NodeId& node)> run_agent;
  // The node that an engine has lent this process, as its variables tell it.
  std::function<Status()> run_allocation;
  std::function<Status(const std::filesystem::path& attempt_folder)> run_supervisor;
  // Serves one model; the settings' wait_for_stop is the role's own.
  std::function<Status(const serving::ServeSettings&)> run_model_server;
  // The route table: [{"method", "pattern", "access"}].
  std::function<json::array()> describe_routes;
};

// The whole program: `int main` returns what this returns. Nothing is contacted for --help and --version.
int run_cli(int argc, char** argv, const Roles& roles);

}  // namespace slipway::cli
