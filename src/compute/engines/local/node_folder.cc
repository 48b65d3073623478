#include "compute/engines/local/node_folder.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"

namespace slipway::compute {

namespace fs = std::filesystem;

namespace {

constexpr uintmax_t kMostLog = 8 << 20;

json::object agent_document(const NodeOrder& order, const std::string& url, const std::string& ca_file) {
  json::object document{{"url", url},
                        {"node", order.node.str()},
                        {"workspace", order.cluster.workspace.str()},
                        {"cluster", order.cluster.name.str()},
                        {"capacity", slipway::to_json(order.capacity)},
                        {"gpu_indices", json::array(order.gpu_indices.begin(), order.gpu_indices.end())}};
  if (!ca_file.empty()) document["ca_file"] = ca_file;
  return document;
}

std::string server_of(const std::string& agent_document_text) {
  const auto document = parse_json_object(agent_document_text, "agent.json");
  if (!document) return "";
  std::string server;
  for (const std::string_view name : {"url", "ca_file"})
    if (const json::value* value = document->if_contains(name)) server += json::serialize(*value) + " ";
  return server;
}

}  // namespace

Result<bool> NodeFolder::write(const NodeOrder& order, const std::string& url, const std::string& ca_file,
                               const std::function<Result<Secret>(const NodeId&)>& make_token) const {
  SLIPWAY_TRY(make_folders(path_ / "attempts"));
  if (!fs::exists(path_ / "token")) {
    SLIPWAY_ASSIGN(const Secret token, make_token(order.node));
    SLIPWAY_TRY(replace_file(path_ / "token", token.reveal() + "\n"));
  }
  const std::string now = json::serialize(agent_document(order, url, ca_file)) + "\n";
  const auto before = read_file(path_ / "agent.json", 1 << 20);
  if (before && *before == now) return false;
  SLIPWAY_TRY(replace_file(path_ / "agent.json", now));
  return before && server_of(*before) != server_of(now);
}

void NodeFolder::rotate_log() const {
  std::error_code failed;
  if (fs::file_size(log(), failed) > kMostLog && !failed) fs::rename(log(), path_ / "agent.log.1", failed);
}

Result<bool> NodeFolder::remove_step(const AttemptClearer& clear) const {
  if (!fs::exists(path_)) return true;
  // With the lock in hand no agent can come up in the folder while it is taken apart.
  SLIPWAY_ASSIGN(const auto held, FileLock::try_take(lock()));
  if (!held) return false;
  bool empty = true;
  std::error_code failed;
  for (const fs::directory_entry& attempt : fs::directory_iterator(path_ / "attempts", failed)) {
    if (FileLock::is_held(attempt.path() / "lock")) {
      empty = false;
      const json::object order{
          {"reason", "its node is not wanted any more"}, {"grace_seconds", 0}, {"kill", true}};
      SLIPWAY_TRY(replace_file(attempt.path() / "cancel.json", json::serialize(order)));
    } else {
      SLIPWAY_TRY(clear(attempt.path()));
    }
  }
  if (!empty) return false;
  fs::remove_all(path_, failed);
  if (failed) return fail(errno_error(failed.value(), fmt::format("remove {}", path_.string())));
  return true;
}

std::vector<NodeId> node_folders(const fs::path& home) {
  std::vector<NodeId> nodes;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(home / "nodes", failed)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory(failed) && check_name(name, "node")) nodes.emplace_back(name);
  }
  return nodes;
}

}  // namespace slipway::compute
