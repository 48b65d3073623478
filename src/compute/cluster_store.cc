#include "compute/cluster_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/random.h"

namespace slipway::compute {

namespace {

constexpr std::string_view kClusterColumns =
    "workspace, name, min_nodes, max_nodes, idle_micros, cpus, memory_bytes, gpus, priority, created_at, "
    "engine, settings, token IS NOT NULL";

ClusterSpec read_cluster(const store::Row& row) {
  ClusterSpec spec;
  spec.workspace = row.id<WorkspaceName>(0);
  spec.name = row.id<ClusterName>(1);
  spec.min_nodes = static_cast<int>(row.integer(2));
  spec.max_nodes = static_cast<int>(row.integer(3));
  spec.idle = Duration(row.integer(4));
  spec.cpus = row.real(5);
  spec.memory_bytes = static_cast<uint64_t>(row.integer(6));
  spec.gpus = static_cast<int>(row.integer(7));
  spec.priority = row.text(8) == priority_name(Priority::kLow) ? Priority::kLow : Priority::kDedicated;
  spec.created_at = row.time(9);
  if (row.text(10) == engine_name(EngineKind::kLocal)) return spec;
  spec.engine = EngineKind::kSlurm;
  spec.has_token = row.integer(12) != 0;
  // A document we wrote ourselves: where it cannot be read, Slurm is not reached, and says so.
  if (const auto settings = parse_json_object(row.text(11), "the settings of a cluster"))
    (void)read_slurm_settings(*settings, spec.slurm);
  return spec;
}

Result<std::vector<ClusterSpec>> query_clusters(store::Reader& reader, std::string_view rest,
                                                const store::Values& values) {
  std::vector<ClusterSpec> clusters;
  SLIPWAY_TRY(reader.query(fmt::format("SELECT {} FROM clusters {}", kClusterColumns, rest), values,
                           [&](const store::Row& row) { clusters.push_back(read_cluster(row)); }));
  return clusters;
}

Error no_cluster(store::Reader& reader, const ClusterKey& key) {
  std::vector<std::string> names;
  if (const auto clusters = list_clusters(reader, key.workspace, "", 10))
    for (const ClusterSpec& spec : *clusters) names.push_back(spec.name.str());
  return {.code = ErrorCode::kNotFound,
          .message = fmt::format("there is no cluster '{}' in workspace '{}'", key.name, key.workspace),
          .next = names.empty()
                      ? fmt::format("create it: slipway compute create {}", key.name)
                      : fmt::format("there {} {}; or create it: slipway compute create {}",
                                    names.size() == 1 ? "is" : "are", fmt::join(names, ", "), key.name),
          .detail = ""};
}

std::optional<std::string> settings_text(const ClusterSpec& spec) {
  if (spec.engine == EngineKind::kLocal) return std::nullopt;
  return json::serialize(to_json(spec.slurm));
}

Result<int64_t> count_nodes(store::Reader& reader, std::string_view where, const store::Values& values) {
  int64_t count = 0;
  SLIPWAY_TRY(reader.query(fmt::format("SELECT COUNT(*) FROM nodes WHERE {}", where), values,
                           [&](const store::Row& row) { count = row.integer(0); }));
  return count;
}

std::string json_text(const std::vector<int>& numbers) {
  return json::serialize(json::array(numbers.begin(), numbers.end()));
}

// Documents we wrote ourselves: one that cannot be read is a damaged row, and tells of no GPUs.
json::array read_array(std::string_view text) {
  auto parsed = parse_json(text, "a list of the store");
  return parsed && parsed->is_array() ? std::move(parsed->as_array()) : json::array();
}

NodeRecord read_node(const store::Row& row) {
  NodeRecord node;
  node.id = row.id<NodeId>(0);
  node.cluster = {row.id<WorkspaceName>(1), row.id<ClusterName>(2)};
  node.draining = row.text(3) == "draining";
  node.capacity.cpus = row.real(4);
  node.capacity.memory_bytes = static_cast<uint64_t>(row.integer(5));
  node.capacity.gpus = static_cast<int>(row.integer(6));
  for (const json::value& name : read_array(row.text(7)))
    if (name.is_string()) node.capacity.gpu_names.emplace_back(name.as_string());
  for (const json::value& index : read_array(row.text(8)))
    if (index.is_int64()) node.gpu_indices.push_back(static_cast<int>(index.as_int64()));
  node.address = std::string(row.text(9));
  node.pid = static_cast<int>(row.integer(10));
  node.created_at = row.time(11);
  node.registered = !row.is_null(12);
  node.joined = row.integer(13) != 0;
  return node;
}

}  // namespace

Status insert_cluster(store::Writer& writer, const ClusterSpec& spec) {
  const auto done = writer.execute(
      "INSERT INTO clusters (workspace, name, min_nodes, max_nodes, idle_micros, cpus, memory_bytes, gpus, "
      "priority, created_at, engine, settings) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      {spec.workspace, spec.name, spec.min_nodes, spec.max_nodes, spec.idle.count(), spec.cpus,
       spec.memory_bytes, spec.gpus, priority_name(spec.priority), spec.created_at, engine_name(spec.engine),
       settings_text(spec)});
  if (done) return {};
  if (done.error().code != ErrorCode::kConflict) return fail(done.error());
  return fail(ErrorCode::kConflict,
              fmt::format("there is a cluster '{}' in workspace '{}' already", spec.name, spec.workspace),
              fmt::format("slipway compute update {} changes it", spec.name));
}

Result<ClusterSpec> find_cluster(store::Reader& reader, const ClusterKey& key) {
  SLIPWAY_ASSIGN(auto found,
                 query_clusters(reader, "WHERE workspace = ? AND name = ?", {key.workspace, key.name}));
  if (found.empty()) return fail(no_cluster(reader, key));
  return std::move(found.front());
}

Result<std::vector<ClusterSpec>> list_clusters(store::Reader& reader, const WorkspaceName& workspace,
                                               std::string_view after, size_t limit) {
  return query_clusters(reader, "WHERE workspace = ? AND name > ? ORDER BY name LIMIT ?",
                        {workspace, after, limit});
}

Result<std::vector<ClusterSpec>> all_clusters(store::Reader& reader) {
  return query_clusters(reader, "ORDER BY workspace, name", {});
}

Status update_cluster(store::Writer& writer, const ClusterSpec& spec) {
  SLIPWAY_ASSIGN(
      const int64_t changed,
      writer.execute(
          "UPDATE clusters SET min_nodes = ?, max_nodes = ?, idle_micros = ?, cpus = ?, "
          "memory_bytes = ?, gpus = ?, priority = ?, settings = ? WHERE workspace = ? AND name = ?",
          {spec.min_nodes, spec.max_nodes, spec.idle.count(), spec.cpus, spec.memory_bytes, spec.gpus,
           priority_name(spec.priority), settings_text(spec), spec.workspace, spec.name}));
  if (changed == 0) return fail(no_cluster(writer, spec.key()));
  return {};
}

Status set_cluster_token(store::Writer& writer, const ClusterKey& key,
                         const std::optional<std::string>& sealed) {
  SLIPWAY_TRY(writer.execute("UPDATE clusters SET token = ? WHERE workspace = ? AND name = ?",
                             {sealed, key.workspace, key.name}));
  return {};
}

Result<std::string> sealed_cluster_token(store::Reader& reader, const ClusterKey& key) {
  std::string sealed;
  SLIPWAY_TRY(reader.query("SELECT token FROM clusters WHERE workspace = ? AND name = ?",
                           {key.workspace, key.name}, [&](const store::Row& row) {
                             if (!row.is_null(0)) sealed = row.text(0);
                           }));
  return sealed;
}

Status delete_cluster(store::Writer& writer, const ClusterKey& key) {
  if (key.name.str() == kLocalCluster)
    return fail(ErrorCode::kConflict, "cluster 'local' exists in every workspace and cannot be deleted",
                "slipway compute update local --min 0 lets its node go when it is idle");
  SLIPWAY_ASSIGN(const int64_t gone, writer.execute("DELETE FROM clusters WHERE workspace = ? AND name = ?",
                                                    {key.workspace, key.name}));
  if (gone == 0) return fail(no_cluster(writer, key));
  return {};
}

Status delete_clusters_of(store::Writer& writer, const WorkspaceName& workspace) {
  SLIPWAY_ASSIGN(const int64_t nodes, count_nodes(writer, "workspace = ?", {workspace}));
  if (nodes > 0)
    return fail(ErrorCode::kConflict,
                fmt::format("workspace '{}' still has {} node{}", workspace, nodes, nodes == 1 ? "" : "s"),
                "wait until they are gone, or cancel what runs on them");
  SLIPWAY_TRY(writer.execute("DELETE FROM clusters WHERE workspace = ?", {workspace}));
  return {};
}

Status insert_node(store::Writer& writer, const NodeRecord& node) {
  SLIPWAY_TRY(writer.execute(
      "INSERT INTO nodes (id, workspace, cluster, state, cpus, memory_bytes, gpus, gpu_names, gpu_indices, "
      "created_at, joined) VALUES (?, ?, ?, 'starting', ?, ?, ?, ?, ?, ?, ?)",
      {node.id, node.cluster.workspace, node.cluster.name, node.capacity.cpus, node.capacity.memory_bytes,
       node.capacity.gpus, json::serialize(slipway::to_json(node.capacity.gpu_names)),
       json_text(node.gpu_indices), node.created_at, node.joined ? 1 : 0}));
  return {};
}

Status set_node_registered(store::Writer& writer, const NodeId& node, const NodeCapacity& capacity,
                           const std::string& address, int pid, Timestamp now) {
  SLIPWAY_ASSIGN(
      const int64_t changed,
      writer.execute(
          "UPDATE nodes SET state = CASE state WHEN 'draining' THEN state ELSE 'ready' END, cpus = ?, "
          "memory_bytes = ?, gpus = ?, gpu_names = ?, address = ?, pid = ?, registered_at = ? "
          "WHERE id = ?",
          {capacity.cpus, capacity.memory_bytes, capacity.gpus,
           json::serialize(slipway::to_json(capacity.gpu_names)), address, pid, now, node}));
  if (changed == 0) return fail(ErrorCode::kNotFound, fmt::format("there is no node '{}'", node));
  return {};
}

Status set_node_draining(store::Writer& writer, const NodeId& node) {
  SLIPWAY_TRY(writer.execute("UPDATE nodes SET state = 'draining' WHERE id = ?", {node}));
  return {};
}

Status delete_node(store::Writer& writer, const NodeId& node) {
  SLIPWAY_TRY(writer.execute("DELETE FROM nodes WHERE id = ?", {node}));
  return {};
}

Result<std::vector<NodeRecord>> all_nodes(store::Reader& reader) {
  std::vector<NodeRecord> nodes;
  SLIPWAY_TRY(reader.query(
      "SELECT id, workspace, cluster, state, cpus, memory_bytes, gpus, gpu_names, gpu_indices, address, pid, "
      "created_at, registered_at, joined FROM nodes ORDER BY id",
      {}, [&](const store::Row& row) { nodes.push_back(read_node(row)); }));
  return nodes;
}

NodeId new_node_id(const ClusterName& cluster) {
  return NodeId(fmt::format("{}-{}", cluster, random_base32(6)));
}

}  // namespace slipway::compute
