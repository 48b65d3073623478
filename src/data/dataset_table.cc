#include "data/dataset_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "blobs/references.h"
#include "data/shown.h"

namespace slipway::data {
namespace {

constexpr std::string_view kColumns =
    "v.name, v.version, v.definition, v.manifest, v.files, v.bytes, v.description, v.tags, v.produced_by, "
    "v.output, v.created_by, v.created_at";

std::string owner_of(const WorkspaceName& workspace, const std::string& name, int version) {
  return fmt::format("dataset/{}/{}/{}", workspace, name, version);
}

// Documents we wrote ourselves: one that cannot be read is a damaged row, and comes out empty.
json::object read_object(std::string_view text) {
  auto parsed = parse_json_object(text, "a document of the store");
  return parsed ? std::move(*parsed) : json::object();
}

VersionRecord read_version(const store::Row& row) {
  VersionRecord record;
  record.name = row.text(0);
  record.version = static_cast<int>(row.integer(1));
  if (auto definition = definition_from_json(read_object(row.text(2))))
    record.definition = std::move(*definition);
  if (const auto digest = Digest::parse(row.text(3))) record.manifest = *digest;
  record.files = static_cast<uint64_t>(row.integer(4));
  record.bytes = static_cast<uint64_t>(row.integer(5));
  record.description = row.text(6);
  for (const auto& [key, value] : read_object(row.text(7)))
    if (value.is_string()) record.tags.emplace(key, value.get_string());
  if (!row.is_null(8)) record.produced_by = row.id<RunId>(8);
  record.output = row.text(9);
  record.created_by = row.text(10);
  record.created_at = row.time(11);
  return record;
}

Result<std::vector<VersionRecord>> select(store::Reader& reader, std::string_view rest,
                                          const store::Values& values) {
  std::vector<VersionRecord> found;
  SLIPWAY_TRY(reader.query(fmt::format("SELECT {} FROM dataset_versions v {}", kColumns, rest), values,
                           [&](const store::Row& row) { found.push_back(read_version(row)); }));
  return found;
}

Error no_dataset(store::Reader& reader, const WorkspaceName& workspace, const DatasetRef& ref) {
  std::vector<std::string> there;
  if (const auto versions = list_versions(reader, workspace, ref.name, INT64_MAX, 10))
    for (const VersionRecord& record : *versions) there.push_back(to_text(record));
  std::string message =
      ref.version && !there.empty()
          ? fmt::format("there is no version {} of the dataset '{}'", *ref.version, shown(ref.name))
          : fmt::format("there is no dataset '{}' in workspace '{}'", shown(ref.name), workspace);
  if (there.empty())
    if (const auto newest = list_newest(reader, workspace, "", 10))
      for (const VersionRecord& record : *newest) there.push_back(record.name);
  return {.code = ErrorCode::kNotFound,
          .message = std::move(message),
          .next = there.empty()
                      ? fmt::format("create it: slipway data create {} PATH...", shown(ref.name))
                      : fmt::format("there {} {}", there.size() == 1 ? "is" : "are", fmt::join(there, ", ")),
          .detail = ""};
}

}  // namespace

json::object to_json(const VersionRecord& record) {
  json::object object{{"name", record.name},
                      {"version", record.version},
                      {"definition", to_json(record.definition)},
                      {"manifest", record.manifest.hex()},
                      {"files", record.files},
                      {"bytes", record.bytes},
                      {"description", record.description},
                      {"tags", slipway::to_json(record.tags)},
                      {"created_by", record.created_by},
                      {"created_at", to_iso8601(record.created_at)}};
  object["produced_by"] =
      record.produced_by
          ? json::value(json::object{{"run", record.produced_by->str()}, {"output", record.output}})
          : json::value(nullptr);
  return object;
}

std::string to_text(const VersionRecord& record) {
  return fmt::format("{}:{}", record.name, record.version);
}

Result<VersionRecord> find_version(store::Reader& reader, const WorkspaceName& workspace,
                                   const DatasetRef& ref) {
  SLIPWAY_ASSIGN(auto found,
                 ref.version
                     ? select(reader, "WHERE v.workspace = ? AND v.name = ? AND v.version = ?",
                              {workspace, ref.name, *ref.version})
                     : select(reader, "WHERE v.workspace = ? AND v.name = ? ORDER BY v.version DESC LIMIT 1",
                              {workspace, ref.name}));
  if (found.empty()) return fail(no_dataset(reader, workspace, ref));
  return std::move(found.front());
}

Result<std::vector<VersionRecord>> list_newest(store::Reader& reader, const WorkspaceName& workspace,
                                               const std::string& after, int64_t limit) {
  return select(
      reader,
      "WHERE v.workspace = ? AND v.name > ? AND v.version = (SELECT MAX(w.version) FROM "
      "dataset_versions w WHERE w.workspace = v.workspace AND w.name = v.name) ORDER BY v.name LIMIT ?",
      {workspace, after, limit});
}

Result<std::vector<VersionRecord>> list_versions(store::Reader& reader, const WorkspaceName& workspace,
                                                 const std::string& name, int64_t before, int64_t limit) {
  return select(reader,
                "WHERE v.workspace = ? AND v.name = ? AND v.version < ? ORDER BY v.version DESC LIMIT ?",
                {workspace, name, before, limit});
}

Result<std::optional<VersionRecord>> find_same(store::Reader& reader, const WorkspaceName& workspace,
                                               const VersionRecord& wanted) {
  SLIPWAY_ASSIGN(
      auto found,
      select(reader,
             "WHERE v.workspace = ? AND v.name = ? AND v.manifest = ? AND v.definition = ? ORDER BY "
             "v.version DESC LIMIT 1",
             {workspace, wanted.name, wanted.manifest.hex(), json::serialize(to_json(wanted.definition))}));
  if (found.empty()) return std::optional<VersionRecord>();
  return std::optional(std::move(found.front()));
}

Status insert_version(store::Writer& writer, const WorkspaceName& workspace, VersionRecord& record,
                      const std::vector<Digest>& blobs) {
  SLIPWAY_TRY(
      writer.run("INSERT INTO datasets (workspace, name, next_version, created_at) VALUES (?, ?, 1, ?) "
                 "ON CONFLICT (workspace, name) DO NOTHING",
                 {workspace, record.name, record.created_at}));
  SLIPWAY_TRY(writer.query(
      "SELECT next_version FROM datasets WHERE workspace = ? AND name = ?", {workspace, record.name},
      [&](const store::Row& row) { record.version = static_cast<int>(row.integer(0)); }));
  SLIPWAY_TRY(writer.run("UPDATE datasets SET next_version = ? WHERE workspace = ? AND name = ?",
                         {record.version + 1, workspace, record.name}));
  const std::string owner = owner_of(workspace, record.name, record.version);
  SLIPWAY_TRY(blobs::add_reference(writer, record.manifest, owner, workspace, std::nullopt));
  for (const Digest& blob : blobs)
    SLIPWAY_TRY(blobs::add_reference(writer, blob, owner, workspace, std::nullopt));
  return writer.run(
      "INSERT INTO dataset_versions (workspace, name, version, definition, manifest, files, bytes, "
      "description, tags, produced_by, output, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, "
      "?, ?)",
      {workspace, record.name, record.version, json::serialize(to_json(record.definition)),
       record.manifest.hex(), record.files, record.bytes, record.description,
       json::serialize(slipway::to_json(record.tags)), record.produced_by, record.output, record.created_by,
       record.created_at});
}

Status update_labels(store::Writer& writer, const WorkspaceName& workspace, const VersionRecord& record) {
  return writer.run(
      "UPDATE dataset_versions SET description = ?, tags = ? WHERE workspace = ? AND name = ? AND version = "
      "?",
      {record.description, json::serialize(slipway::to_json(record.tags)), workspace, record.name,
       record.version});
}

Status delete_version(store::Writer& writer, const WorkspaceName& workspace, const VersionRecord& record) {
  SLIPWAY_TRY(blobs::drop_references(writer, owner_of(workspace, record.name, record.version)));
  return writer.run("DELETE FROM dataset_versions WHERE workspace = ? AND name = ? AND version = ?",
                    {workspace, record.name, record.version});
}

Result<std::vector<RunUse>> runs_using(store::Reader& reader, const WorkspaceName& workspace,
                                       const std::string& name, int version, int64_t limit) {
  std::vector<RunUse> uses;
  SLIPWAY_TRY(reader.query(
      "SELECT i.run, i.input FROM run_inputs i JOIN runs r ON r.id = i.run WHERE i.workspace = ? AND "
      "i.dataset = ? AND i.version = ? ORDER BY r.seq DESC LIMIT ?",
      {workspace, name, version, limit}, [&](const store::Row& row) {
        uses.push_back({.run = row.id<RunId>(0), .input = std::string(row.text(1))});
      }));
  return uses;
}

Result<std::vector<RunId>> active_runs_using(store::Reader& reader, const WorkspaceName& workspace,
                                             const std::string& name, int version) {
  std::vector<RunId> active;
  SLIPWAY_TRY(reader.query(
      "SELECT DISTINCT r.id FROM run_inputs i JOIN runs r ON r.id = i.run WHERE i.workspace = ? AND "
      "i.dataset = ? AND i.version = ? AND r.ended_at IS NULL ORDER BY r.seq LIMIT 10",
      {workspace, name, version}, [&](const store::Row& row) { active.push_back(row.id<RunId>(0)); }));
  return active;
}

}  // namespace slipway::data
