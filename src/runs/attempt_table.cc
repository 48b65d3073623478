#include "runs/attempt_table.h"

#include <fmt/format.h>

#include <array>

#include "base/log.h"

namespace slipway::runs {
namespace {

constexpr std::array<std::pair<PartState, std::string_view>, 6> kNames{{
    {PartState::kOrdered, "ordered"},
    {PartState::kClaimed, "claimed"},
    {PartState::kStarted, "started"},
    {PartState::kExited, "exited"},
    {PartState::kFinished, "finished"},
    {PartState::kFenced, "fenced"},
}};

constexpr std::string_view kSelect =
    "SELECT run_seq, run, attempt, rank, node, state, granted, gpu_indices, cancel, journal_offset, exit, "
    "gathered "
    "FROM attempt_nodes ";
constexpr std::string_view kOpen = "state IN ('ordered', 'claimed', 'started', 'exited')";

PartState state_column(std::string_view text) {
  for (const auto& [state, name] : kNames)
    if (name == text) return state;
  abort_because(fmt::format("the store holds an unknown attempt state '{}'", text));
}

json::object object_column(std::string_view text) {
  auto object = parse_json_object(text, "a stored document");
  if (!object) abort_because(object.error().message);
  return std::move(*object);
}

std::string cancel_text(const CancelOrder& order) {
  return json::serialize(json::object{{"reason", order.reason}, {"grace_micros", order.grace.count()}});
}

Part read_part(const store::Row& row) {
  Part part;
  part.run_seq = row.integer(0);
  part.key = {.run = row.id<RunId>(1),
              .attempt = static_cast<int>(row.integer(2)),
              .rank = static_cast<int>(row.integer(3))};
  part.node = row.id<NodeId>(4);
  part.state = state_column(row.text(5));
  if (auto granted = resources_from_json(object_column(row.text(6)))) part.granted = *granted;
  const auto indices = parse_json(row.text(7), "stored GPU indices");
  if (indices && indices->is_array())
    for (const json::value& index : indices->get_array()) part.gpu_indices.push_back(index.to_number<int>());
  if (!row.is_null(8)) {
    const json::object object = object_column(row.text(8));
    CancelOrder order;
    int64_t grace = 0;
    JsonFields fields(object, "a stored order");
    fields.optional("reason", order.reason);
    fields.optional("grace_micros", grace);
    order.grace = Duration(grace);
    part.cancel = std::move(order);
  }
  part.journal_offset = static_cast<uint64_t>(row.integer(9));
  if (!row.is_null(10))
    if (auto exit = exit_status_from_json(object_column(row.text(10)))) part.exit = std::move(*exit);
  part.gathered = row.integer(11) != 0;
  return part;
}

Result<std::vector<Part>> select_parts(store::Reader& reader, std::string_view rest,
                                       const store::Values& values) {
  std::vector<Part> parts;
  SLIPWAY_TRY(reader.query(fmt::format("{}{}", kSelect, rest), values,
                           [&](const store::Row& row) { parts.push_back(read_part(row)); }));
  return parts;
}

}  // namespace

std::string_view to_text(PartState state) {
  for (const auto& [candidate, name] : kNames)
    if (candidate == state) return name;
  return "";
}

bool is_open(PartState state) {
  return state != PartState::kFinished && state != PartState::kFenced;
}

Status insert_part(store::Writer& writer, const Part& part, Timestamp now) {
  json::array indices;
  for (const int index : part.gpu_indices) indices.emplace_back(index);
  return writer.run(
      "INSERT INTO attempt_nodes (run_seq, run, attempt, rank, node, granted, gpu_indices, state, "
      "journal_offset, created_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)",
      {part.run_seq, part.key.run, part.key.attempt, part.key.rank, part.node,
       json::serialize(to_json(part.granted)), json::serialize(indices), to_text(part.state), now});
}

Status update_part(store::Writer& writer, const Part& part) {
  std::optional<std::string> exit;
  if (part.exit) exit = json::serialize(to_json(*part.exit));
  return writer.run(
      "UPDATE attempt_nodes SET state = ?, journal_offset = ?, exit = ? WHERE run = ? AND attempt = ? AND "
      "rank = ?",
      {to_text(part.state), part.journal_offset, exit, part.key.run, part.key.attempt, part.key.rank});
}

Status set_part_token(store::Writer& writer, const AttemptKey& key, const TokenId& token) {
  return writer.run("UPDATE attempt_nodes SET token_id = ? WHERE run = ? AND attempt = ? AND rank = ?",
                    {token, key.run, key.attempt, key.rank});
}

Result<Part> load_open_part(store::Reader& reader, const NodeId& node, const AttemptKey& key) {
  SLIPWAY_ASSIGN(
      auto parts,
      select_parts(reader,
                   fmt::format("WHERE run = ? AND attempt = ? AND rank = ? AND node = ? AND {}", kOpen),
                   {key.run, key.attempt, key.rank, node}));
  if (parts.empty())
    return fail(ErrorCode::kStale, fmt::format("{} is over on this node", to_text(key)),
                "end it and drop its folder");
  return std::move(parts.front());
}

Result<std::vector<Part>> parts_of_attempt(store::Reader& reader, const RunId& run, int attempt) {
  return select_parts(reader, "WHERE run = ? AND attempt = ? ORDER BY rank", {run, attempt});
}

Result<std::vector<Part>> open_parts_of_node(store::Reader& reader, const NodeId& node) {
  return select_parts(reader, fmt::format("WHERE node = ? AND {} ORDER BY run_seq, rank", kOpen), {node});
}

Result<std::vector<Part>> open_parts(store::Reader& reader) {
  return select_parts(reader, fmt::format("WHERE {} ORDER BY run_seq, rank", kOpen), {});
}

Status order_cancel(store::Writer& writer, const RunId& run, int attempt, const CancelOrder& order) {
  return writer.run(
      fmt::format("UPDATE attempt_nodes SET cancel = ? WHERE run = ? AND attempt = ? AND {}", kOpen),
      {cancel_text(order), run, attempt});
}

Status fence_parts(store::Writer& writer, const RunId& run, int attempt) {
  return writer.run(
      fmt::format("UPDATE attempt_nodes SET state = 'fenced' WHERE run = ? AND attempt = ? AND {}", kOpen),
      {run, attempt});
}

Result<bool> has_been_fenced(store::Reader& reader, const AttemptKey& key) {
  bool fenced = true;
  SLIPWAY_TRY(reader.query("SELECT state FROM attempt_nodes WHERE run = ? AND attempt = ? AND rank = ?",
                           {key.run, key.attempt, key.rank}, [&](const store::Row& row) {
                             fenced = row.text(0) == to_text(PartState::kFenced);
                           }));
  return fenced;
}

}  // namespace slipway::runs
