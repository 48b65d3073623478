// What an agent starts from: its folder below the home, agent.json and the node's token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/secret.h"
#include "protocol/node.h"

namespace slipway::node {

// The places of one node. See "Home" in the documentation of the files on disk.
struct NodePaths {
  std::filesystem::path home;  // absolute
  NodeId node;
  std::filesystem::path shared =
      {};  // where environments and cached files are instead, when other nodes see it too

  std::filesystem::path common() const { return shared.empty() ? home : shared; }
  std::filesystem::path folder() const { return home / "nodes" / node.str(); }
  std::filesystem::path lock() const { return folder() / "lock"; }
  std::filesystem::path config() const { return folder() / "agent.json"; }
  std::filesystem::path token() const { return folder() / "token"; }
  std::filesystem::path attempts() const { return folder() / "attempts"; }
  std::filesystem::path attempt(const AttemptKey& key) const { return attempts() / to_text(key); }
  std::filesystem::path spare() const { return folder() / "spare"; }
  std::filesystem::path cache() const { return common() / "cache"; }
};

struct AgentConfig {
  std::string url;
  NodeId node;
  NodeCapacity capacity;
  std::string address = "127.0.0.1";          // where the other nodes of a run reach this one
  std::string ca_file;                        // for https
  uint64_t cache_bytes = 20ULL << 30;         // bound of the shared cache of snapshot files
  uint64_t environments_bytes = 60ULL << 30;  // bound of the environments built here, with what builders keep
  bool allocation = false;                    // the node is there for one attempt, and ends with it
  std::filesystem::path shared = {};          // see NodePaths
  std::vector<int> gpu_indices = {};          // those of the machine that it may use; empty: the first ones
  Secret token;
};

// Reads agent.json ({"url", "node", "capacity" or "capacity_limits", "address"?, "ca_file"?, "cache_bytes"?,
// "environments_bytes"?, "allocation"?, "shared"?, "gpu_indices"?}; other fields are let pass) and the token
// beside it. The message of a failure names the file.
Result<AgentConfig> read_agent_config(const NodePaths& paths);

}  // namespace slipway::node
