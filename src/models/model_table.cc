#include "models/model_table.h"

#include <fmt/format.h>

#include "base/log.h"
#include "data/definition.h"

namespace slipway::models {
namespace {

constexpr std::string_view kColumns =
    "m.seq, m.workspace, m.name, m.version, m.manifest, m.files, m.bytes, m.framework, m.framework_version, "
    "m.description, m.resources, m.samples, m.run, m.path, m.code, m.trial, m.created_by, m.created_at, "
    "m.modified_at, m.environment";

// What Slipway itself wrote: anything unreadable there is a broken invariant of the store, not bad input.
json::object document(std::string_view text) {
  auto parsed = parse_json_object(text, "a stored model");
  if (!parsed) abort_because(fmt::format("the store holds an unreadable model: {}", parsed.error().message));
  return std::move(*parsed);
}

template <class T>
T known(Result<T> value) {
  if (!value) abort_because(fmt::format("the store holds an unreadable model: {}", value.error().message));
  return std::move(*value);
}

json::object samples_json(const ModelVersion& model) {
  json::object samples;
  if (!model.sample_input.empty()) samples["input"] = to_json(model.sample_input);
  if (!model.sample_output.empty()) samples["output"] = to_json(model.sample_output);
  return samples;
}

Sample sample_in(const json::object& samples, std::string_view which) {
  const json::value* value = samples.if_contains(which);
  if (value == nullptr || !value->is_object()) return {};
  return known(sample_from_json(value->get_object(), "a stored sample"));
}

ModelVersion read_model(const store::Row& row) {
  ModelVersion model;
  model.seq = row.integer(0);
  model.workspace = row.id<WorkspaceName>(1);
  model.name = row.text(2);
  model.version = static_cast<int>(row.integer(3));
  model.manifest = row.text(4);
  model.files = static_cast<uint64_t>(row.integer(5));
  model.bytes = static_cast<uint64_t>(row.integer(6));
  model.framework = known(model_framework_from_text(row.text(7)));
  model.framework_version = row.text(8);
  model.description = row.text(9);
  model.resources = known(resources_from_json(document(row.text(10))));
  const json::object samples = document(row.text(11));
  model.sample_input = sample_in(samples, "input");
  model.sample_output = sample_in(samples, "output");
  if (!row.is_null(12)) model.run = row.id<RunId>(12);
  model.path = row.text(13);
  model.code = document(row.text(14));
  model.trial = trial_from_json(document(row.text(15)));
  model.created_by = row.text(16);
  model.created_at = row.time(17);
  model.modified_at = row.time(18);
  model.environment = row.text(19);
  return model;
}

Status load_extras(store::Reader& reader, ModelVersion& model) {
  SLIPWAY_TRY(reader.query("SELECT kind, key, value FROM model_pairs WHERE model_seq = ?", {model.seq},
                           [&](const store::Row& row) {
                             auto& pairs = row.text(0) == "tag" ? model.tags : model.properties;
                             pairs.emplace(row.text(1), row.text(2));
                           }));
  return reader.query("SELECT role, dataset, version FROM model_datasets WHERE model_seq = ?", {model.seq},
                      [&](const store::Row& row) {
                        model.datasets.emplace(row.text(0),
                                               fmt::format("{}:{}", row.text(1), row.integer(2)));
                      });
}

Result<std::vector<ModelVersion>> select_models(store::Reader& reader, std::string_view rest,
                                                const store::Values& values) {
  std::vector<ModelVersion> models;
  SLIPWAY_TRY(reader.query(fmt::format("SELECT {} FROM model_versions m {}", kColumns, rest), values,
                           [&](const store::Row& row) { models.push_back(read_model(row)); }));
  for (ModelVersion& model : models) SLIPWAY_TRY(load_extras(reader, model));
  return models;
}

// Conditions on the versions that a statement calls `alias`, with their values.
class Conditions {
 public:
  static Result<Conditions> of(const ModelFilter& filter, std::string_view alias);

  const std::string& sql() const { return sql_; }
  void append_to(store::Values& values) const {
    for (const store::Value& value : values_) values.push_back(value);
  }

 private:
  void require(std::string_view condition, store::Value value) {
    sql_ += condition;
    values_.push_back(std::move(value));
  }
  void require_pairs(const std::vector<WantedPair>& pairs, std::string_view kind, std::string_view alias) {
    for (const WantedPair& pair : pairs) {
      require(
          fmt::format(" AND EXISTS (SELECT 1 FROM model_pairs p WHERE p.model_seq = {}.seq AND p.kind = ?",
                      alias),
          kind);
      require(" AND p.key = ?", pair.key);
      if (pair.value) require(" AND p.value = ?", *pair.value);
      sql_ += ")";
    }
  }

  std::string sql_;
  store::Values values_;
};

Result<Conditions> Conditions::of(const ModelFilter& filter, std::string_view alias) {
  Conditions made;
  if (filter.name) made.require(fmt::format(" AND {}.name = ?", alias), *filter.name);
  if (filter.framework) made.require(fmt::format(" AND {}.framework = ?", alias), to_text(*filter.framework));
  if (filter.run) made.require(fmt::format(" AND {}.run = ?", alias), *filter.run);
  if (filter.dataset) {
    SLIPWAY_ASSIGN(const data::DatasetRef dataset, data::parse_dataset_ref(*filter.dataset));
    made.require(fmt::format(" AND EXISTS (SELECT 1 FROM model_datasets d WHERE d.model_seq = {}.seq AND "
                             "d.dataset = ?",
                             alias),
                 dataset.name);
    if (dataset.version) made.require(" AND d.version = ?", *dataset.version);
    made.sql_ += ")";
  }
  made.require_pairs(filter.tags, "tag", alias);
  made.require_pairs(filter.properties, "property", alias);
  return made;
}

Status set_pair(store::Writer& writer, const ModelVersion& model, std::string_view kind,
                const std::string& key, const std::string& value) {
  return writer.run(
      "INSERT INTO model_pairs (model_seq, kind, key, value) VALUES (?, ?, ?, ?) "
      "ON CONFLICT (model_seq, kind, key) DO UPDATE SET value = excluded.value",
      {model.seq, kind, key, value});
}

Status add_datasets(store::Writer& writer, const ModelVersion& model) {
  for (const auto& [role, text] : model.datasets) {
    SLIPWAY_ASSIGN(const data::DatasetRef dataset, data::parse_dataset_ref(text));
    SLIPWAY_TRY(writer.run(
        "INSERT INTO model_datasets (model_seq, role, workspace, dataset, version) VALUES (?, ?, ?, ?, ?)",
        {model.seq, role, model.workspace, dataset.name, dataset.version.value_or(1)}));
  }
  return {};
}

}  // namespace

Result<ModelVersion> load_model(store::Reader& reader, const WorkspaceName& workspace,
                                const ModelReference& reference) {
  SLIPWAY_ASSIGN(auto found, select_models(reader,
                                           reference.version == 0
                                               ? "WHERE m.workspace = ? AND m.name = ? AND m.version >= ? "
                                                 "ORDER BY m.version DESC LIMIT 1"
                                               : "WHERE m.workspace = ? AND m.name = ? AND m.version = ?",
                                           {workspace, reference.name, reference.version}));
  if (!found.empty()) return std::move(found.front());
  return fail(ErrorCode::kNotFound, fmt::format("there is no model '{}'", to_text(reference)),
              reference.version == 0
                  ? "slipway model list shows what there is"
                  : fmt::format("slipway model versions {} shows what there is", reference.name));
}

Result<std::vector<ModelVersion>> list_models(store::Reader& reader, const WorkspaceName& workspace,
                                              const ModelFilter& filter) {
  SLIPWAY_ASSIGN(const Conditions conditions, Conditions::of(filter, "m"));
  std::string rest = "WHERE m.workspace = ? AND m.seq < ?" + conditions.sql();
  store::Values values{workspace, filter.before_seq};
  conditions.append_to(values);
  if (filter.latest) {
    // The newest of those that fit, whatever the page.
    SLIPWAY_ASSIGN(const Conditions newer, Conditions::of(filter, "n"));
    rest += fmt::format(
        " AND NOT EXISTS (SELECT 1 FROM model_versions n WHERE n.workspace = m.workspace AND n.name = m.name "
        "AND n.version > m.version{})",
        newer.sql());
    newer.append_to(values);
  }
  rest += " ORDER BY m.seq DESC LIMIT ?";
  values.emplace_back(filter.limit);
  return select_models(reader, rest, values);
}

Status insert_model(store::Writer& writer, ModelVersion& model) {
  SLIPWAY_TRY(
      writer.query("INSERT INTO models (workspace, name, next_version, created_at) VALUES (?, ?, 2, ?) "
                   "ON CONFLICT (workspace, name) DO UPDATE SET next_version = models.next_version + 1 "
                   "RETURNING next_version",
                   {model.workspace, model.name, model.created_at},
                   [&](const store::Row& row) { model.version = static_cast<int>(row.integer(0)) - 1; }));
  SLIPWAY_TRY(writer.query(
      "INSERT INTO model_versions (workspace, name, version, manifest, files, bytes, framework, "
      "framework_version, environment, description, resources, samples, run, path, code, code_snapshot, "
      "trial, "
      "created_by, created_at, modified_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?) "
      "RETURNING seq",
      {model.workspace,
       model.name,
       model.version,
       model.manifest,
       model.files,
       model.bytes,
       to_text(model.framework),
       model.framework_version,
       model.environment,
       model.description,
       json::serialize(slipway::to_json(model.resources)),
       json::serialize(samples_json(model)),
       model.run,
       model.path,
       json::serialize(model.code),
       code_snapshot_of(model),
       json::serialize(to_json(model.trial)),
       model.created_by,
       model.created_at,
       model.modified_at},
      [&](const store::Row& row) { model.seq = row.integer(0); }));
  SLIPWAY_TRY(set_tags(writer, model, model.tags));
  SLIPWAY_TRY(add_properties(writer, model, model.properties));
  return add_datasets(writer, model);
}

Status store_trial(store::Writer& writer, const ModelVersion& model) {
  return writer.run("UPDATE model_versions SET trial = ? WHERE seq = ?",
                    {json::serialize(to_json(model.trial)), model.seq});
}

Status store_facts(store::Writer& writer, const ModelVersion& model) {
  return writer.run(
      "UPDATE model_versions SET description = ?, framework = ?, framework_version = ?, environment = ?, "
      "resources = ?, "
      "samples = ?, modified_at = ? WHERE seq = ?",
      {model.description, to_text(model.framework), model.framework_version, model.environment,
       json::serialize(slipway::to_json(model.resources)), json::serialize(samples_json(model)),
       model.modified_at, model.seq});
}

Status set_tags(store::Writer& writer, const ModelVersion& model,
                const std::map<std::string, std::string>& tags) {
  for (const auto& [key, value] : tags) SLIPWAY_TRY(set_pair(writer, model, "tag", key, value));
  return {};
}

Status remove_tag(store::Writer& writer, const ModelVersion& model, const std::string& key) {
  return writer.run("DELETE FROM model_pairs WHERE model_seq = ? AND kind = 'tag' AND key = ?",
                    {model.seq, key});
}

Status add_properties(store::Writer& writer, const ModelVersion& model,
                      const std::map<std::string, std::string>& properties) {
  for (const auto& [key, value] : properties) {
    std::optional<std::string> before;
    SLIPWAY_TRY(
        writer.query("SELECT value FROM model_pairs WHERE model_seq = ? AND kind = 'property' AND key = ?",
                     {model.seq, key}, [&](const store::Row& row) { before = row.text(0); }));
    if (before && *before != value)
      return fail(ErrorCode::kConflict,
                  fmt::format("the property '{}' of {} is set already and cannot be changed", key,
                              to_text(reference_of(model))),
                  "use another name, or a tag, which can be changed");
    SLIPWAY_TRY(set_pair(writer, model, "property", key, value));
  }
  return {};
}

Status delete_model(store::Writer& writer, const ModelVersion& model) {
  for (const std::string_view statement :
       {"DELETE FROM model_pairs WHERE model_seq = ?", "DELETE FROM model_datasets WHERE model_seq = ?",
        "DELETE FROM model_versions WHERE seq = ?"})
    SLIPWAY_TRY(writer.run(statement, {model.seq}));
  return {};
}

}  // namespace slipway::models
