// Where the server is, which workspace is meant and what token to show.
//
// Looked for in this order, the first that names a server wins:
//   1. what the caller gives
//   2. SLIPWAY_URL
//   3. .slipway/config.json or config.json, in the working folder and those above it: {"url", "workspace",
//   "token_file"}
//   4. the home's server.json, which a running local server writes
// A token goes only to the server it was given for: a config.json that lies in someone's repository cannot
// have the home's token, or SLIPWAY_TOKEN, sent to an address of its own.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "http/client.h"

namespace slipway::client {

// What the caller knows; empty fields are looked for.
struct ConnectionHints {
  std::string url;
  Secret token;
  std::filesystem::path token_file;  // instead of token
  std::string workspace;
  std::string ca_file;
  std::filesystem::path home;            // of the local server; empty: $SLIPWAY_HOME or ~/.slipway
  std::filesystem::path working_folder;  // where the search for config.json begins; empty: the current one
};

// A value: each thread may have its own.
struct Connection {
  http::ClientOptions http;
  std::string workspace = "default";
  std::filesystem::path home;
  bool from_home = false;  // the address is the home's server.json's

  // Reads server.json again, for a server that came back on another port. True when the address is another
  // one.
  bool look_again();

  // "/api/v1/workspaces/default" + path
  std::string in_workspace(std::string_view path) const;
  // Adds to an error of the connection what a person can do about it.
  Error explain(Error error) const;
};

// kUnreachable when nothing names a server, kInvalidArgument for a bad workspace name, an unreadable token
// file or config.json. Contacts nothing.
Result<Connection> find_connection(const ConnectionHints& hints);

// $SLIPWAY_HOME or ~/.slipway; empty when neither variable is set.
std::filesystem::path default_home();

}  // namespace slipway::client
