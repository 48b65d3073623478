#include "node/agent_config.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"

namespace slipway::node {

Result<AgentConfig> read_agent_config(const NodePaths& paths) {
  SLIPWAY_ASSIGN(const std::string text, read_file(paths.config(), 1 << 20));
  SLIPWAY_ASSIGN(const json::object document, parse_json_object(text, paths.config().string()));
  AgentConfig config;
  json::object capacity;
  JsonFields fields(document, paths.config().string());
  fields.required("url", config.url);
  fields.required("node", config.node);
  fields.required("capacity", capacity);
  fields.optional("address", config.address);
  fields.optional("ca_file", config.ca_file);
  fields.optional("cache_bytes", config.cache_bytes);
  fields.optional("environments_bytes", config.environments_bytes);
  SLIPWAY_TRY(fields.finish_lenient());
  if (config.node != paths.node)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is of node {}, not of {}", paths.config().string(), config.node, paths.node));
  SLIPWAY_ASSIGN(config.capacity, node_capacity_from_json(capacity));

  SLIPWAY_ASSIGN(std::string token, read_file(paths.token(), 4096));
  while (!token.empty() && (token.back() == '\n' || token.back() == ' ')) token.pop_back();
  config.token = Secret(std::move(token));
  return config;
}

}  // namespace slipway::node
