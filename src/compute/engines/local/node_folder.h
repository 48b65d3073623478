// The folder of one local node, nodes/<id>: what its agent needs to start, and what is left when it is gone.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "compute/engine.h"

namespace slipway::compute {

// Ends what a dead supervisor has left of its attempt, and removes the attempt's folder.
using AttemptClearer = std::function<Status(const std::filesystem::path& folder)>;

class NodeFolder {
 public:
  NodeFolder(const std::filesystem::path& home, const NodeId& node) : path_(home / "nodes" / node.str()) {}

  std::filesystem::path lock() const { return path_ / "lock"; }
  std::filesystem::path log() const { return path_ / "agent.log"; }

  // Makes the folder, the token file (unless it is there) and agent.json. True: agent.json was there and said
  // something else about the server, which an agent that runs already does not know.
  Result<bool> write(const NodeOrder& order, const std::string& url, const std::string& ca_file,
                     const std::function<Result<Secret>(const NodeId&)>& make_token) const;
  // Keeps one agent.log of the past once it has grown.
  void rotate_log() const;

  // One step towards the folder's end, for a node whose agent is dead: supervisors that live are told to kill
  // their job, the attempts of dead ones are cleared; when none is left the folder is removed. True: it is
  // gone.
  Result<bool> remove_step(const AttemptClearer& clear) const;

 private:
  std::filesystem::path path_;
};

// The nodes that have a folder.
std::vector<NodeId> node_folders(const std::filesystem::path& home);

}  // namespace slipway::compute
