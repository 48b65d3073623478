#include "node/agent_config.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "compute/machine.h"

namespace slipway::node {
namespace {

// What a machine that has joined gives: all it has, or what its owner lets it.
Result<NodeCapacity> machine_within(const json::object& limits, const std::string& file) {
  const compute::Machine machine = compute::detect_machine();
  NodeCapacity capacity{.cpus = machine.cpus,
                        .memory_bytes = machine.memory_bytes,
                        .gpus = static_cast<int>(machine.gpus.size()),
                        .gpu_names = {}};
  JsonFields fields(limits, file);
  fields.optional("cpus", capacity.cpus);
  fields.optional("memory_bytes", capacity.memory_bytes);
  fields.optional("gpus", capacity.gpus);
  SLIPWAY_TRY(fields.finish_lenient());
  for (const compute::Gpu& gpu : machine.gpus)
    if (capacity.gpu_names.size() < static_cast<size_t>(std::max(capacity.gpus, 0)))
      capacity.gpu_names.push_back(gpu.name);
  return capacity;
}

}  // namespace

Result<AgentConfig> read_agent_config(const NodePaths& paths) {
  SLIPWAY_ASSIGN(const std::string text, read_file(paths.config(), 1 << 20));
  SLIPWAY_ASSIGN(const json::object document, parse_json_object(text, paths.config().string()));
  AgentConfig config;
  json::object capacity;
  json::object limits;
  JsonFields fields(document, paths.config().string());
  fields.required("url", config.url);
  fields.required("node", config.node);
  fields.optional("capacity", capacity);
  fields.optional("capacity_limits", limits);
  fields.optional("address", config.address);
  fields.optional("ca_file", config.ca_file);
  fields.optional("cache_bytes", config.cache_bytes);
  fields.optional("environments_bytes", config.environments_bytes);
  std::string shared;
  json::array gpus;
  fields.optional("allocation", config.allocation);
  fields.optional("shared", shared);
  fields.optional("gpu_indices", gpus);
  SLIPWAY_TRY(fields.finish_lenient());
  config.shared = shared;
  for (const json::value& index : gpus)
    if (index.is_int64()) config.gpu_indices.push_back(static_cast<int>(index.get_int64()));
  if (config.node != paths.node)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is of node {}, not of {}", paths.config().string(), config.node, paths.node));
  if (capacity.empty()) {
    SLIPWAY_ASSIGN(config.capacity, machine_within(limits, paths.config().string()));
  } else {
    SLIPWAY_ASSIGN(config.capacity, node_capacity_from_json(capacity));
  }

  SLIPWAY_ASSIGN(std::string token, read_file(paths.token(), 4096));
  while (!token.empty() && (token.back() == '\n' || token.back() == ' ')) token.pop_back();
  config.token = Secret(std::move(token));
  return config;
}

}  // namespace slipway::node
