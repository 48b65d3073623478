#include "models/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/failpoint.h"
#include "base/log.h"
#include "blobs/references.h"
#include "data/dataset_table.h"
#include "environments/resolution.h"
#include "models/environment.h"
#include "models/lineage.h"
#include "models/model_table.h"
#include "models/origin.h"
#include "runs/run_table.h"

namespace slipway::models {
namespace {

constexpr size_t kLongestVersionText = 64;

// Who holds the files of its samples.
std::string owner_of(const ModelVersion& model) {
  return fmt::format("model/{}/{}/{}", model.workspace, model.name, model.version);
}

Status check_framework_version(const std::string& text) {
  const bool good = text.size() <= kLongestVersionText &&
                    std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
  if (good) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("a framework's version has at most {} printable characters", kLongestVersionText));
}

Status pin_datasets(store::Reader& reader, const WorkspaceName& workspace,
                    std::map<std::string, std::string>& datasets) {
  for (auto& [role, text] : datasets) {
    SLIPWAY_TRY(check_name(role, "dataset's role", 255));
    SLIPWAY_ASSIGN(const data::DatasetRef ref, data::parse_dataset_ref(text));
    SLIPWAY_ASSIGN(const data::VersionRecord record, data::find_version(reader, workspace, ref));
    text = data::to_text(record);
  }
  return {};
}

// The version of the environment that is meant now.
Status pin_environment(store::Reader& reader, const WorkspaceName& workspace, std::string& environment) {
  if (environment.empty()) return {};
  SLIPWAY_ASSIGN(const auto resolved, environments::resolve_environment(reader, workspace, environment,
                                                                        environments::Deleted::kHidden));
  environment = resolved.reference();
  return {};
}

// Decided once, so that it is served where it was tried, also when its run is gone.
Status settle_environment(store::Reader& reader, ModelVersion& model) {
  SLIPWAY_ASSIGN(model.environment, serving_environment(reader, model));
  return pin_environment(reader, model.workspace, model.environment);
}

// Whether anything can find out by itself that it serves.
Trial first_trial(const NewModel& wanted) {
  Trial trial;
  if (curated_environment_of(wanted.framework).empty()) {
    trial.reason = "a custom model is served by an entry script, which is tried when it is deployed";
  } else if (!wanted.trial) {
    trial.state = Trial::State::kSkipped;
    trial.reason = "it was registered without a trial load";
  } else {
    trial.state = Trial::State::kRunning;
  }
  return trial;
}

// What its trial came to is an extra: a version is shown without it when the store cannot take it in now.
void look_at_trial(Trials& trials, ModelVersion& model) {
  if (const Status settled = trials.settle(model); !settled)
    log_warning("model.trial_not_settled",
                {{"model", to_text(reference_of(model))}, {"error", settled.error()}});
}

}  // namespace

Status Registry::check_sample(store::Reader& reader, const WorkspaceName& workspace, Sample& sample) {
  if (sample.empty()) return {};
  if (!sample.dataset.empty()) {
    SLIPWAY_ASSIGN(const data::DatasetRef ref, data::parse_dataset_ref(sample.dataset));
    SLIPWAY_ASSIGN(const data::VersionRecord record, data::find_version(reader, workspace, ref));
    sample.dataset = data::to_text(record);
    return {};
  }
  SLIPWAY_ASSIGN(const Digest digest, Digest::parse(sample.digest));
  SLIPWAY_ASSIGN(const bool present, blobs::is_present(reader, workspace, digest));
  const auto size = present ? blobs_.size_of(digest) : std::nullopt;
  if (!size)
    return fail(ErrorCode::kConflict, fmt::format("the sample '{}' has not been uploaded", sample.name),
                "upload it first: PUT .../blobs/{digest}");
  sample.size = *size;
  return {};
}

Status Registry::hold_samples(store::Writer& writer, const ModelVersion& model) {
  const std::string owner = owner_of(model);
  SLIPWAY_TRY(blobs::drop_references(writer, owner));
  for (const Sample* sample : {&model.sample_input, &model.sample_output}) {
    if (sample->digest.empty()) continue;
    SLIPWAY_ASSIGN(const Digest digest, Digest::parse(sample->digest));
    SLIPWAY_TRY(blobs::add_reference(writer, digest, owner, model.workspace));
  }
  return {};
}

Status Registry::describe_files(const NewModel& wanted, ModelVersion& model,
                                std::optional<snapshot::Manifest>& manifest) {
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    model.datasets = wanted.datasets;
    SLIPWAY_TRY(pin_datasets(reader, wanted.workspace, model.datasets));
    SLIPWAY_TRY(check_sample(reader, wanted.workspace, model.sample_input));
    SLIPWAY_TRY(check_sample(reader, wanted.workspace, model.sample_output));
    if (!wanted.run) return settle_environment(reader, model);
    SLIPWAY_ASSIGN(const runs::Run run, runs::load_run(reader, wanted.workspace, *wanted.run));
    model.run = run.id;
    model.code = code_of(run);
    SLIPWAY_ASSIGN(const auto read, datasets_of(reader, run));
    model.datasets.insert(read.begin(), read.end());
    SLIPWAY_TRY(settle_environment(reader, model));
    if (!wanted.snapshot.empty()) return {};
    model.path = wanted.path;
    SLIPWAY_ASSIGN(manifest, manifest_of_run(reader, run, wanted.path));
    return {};
  }));
  if (!manifest && wanted.snapshot.empty())
    return fail(ErrorCode::kInvalidArgument, "the model has no files",
                "name a run and a path of its files, or a snapshot");
  snapshot::Manifest uploaded;
  if (!manifest) {
    SLIPWAY_ASSIGN(uploaded, snapshots_.load(wanted.workspace, wanted.snapshot));
  }
  const snapshot::Manifest& files = manifest ? *manifest : uploaded;
  if (files.entries().empty())
    return fail(ErrorCode::kInvalidArgument, "the model has no files: its folder is empty");
  model.manifest = files.id().hex();
  model.files = files.entries().size();
  model.bytes = files.total_bytes();
  return {};
}

Status Registry::store_version(store::Writer& writer, const NewModel& wanted,
                               const std::optional<snapshot::Manifest>& manifest, Registered& result) {
  SLIPWAY_ASSIGN(const auto made, store::find_made(writer, wanted.request));
  result.repeated = made.has_value();
  if (made) {
    SLIPWAY_ASSIGN(const ModelReference reference, parse_model_reference(*made));
    SLIPWAY_ASSIGN(result.model, load_model(writer, wanted.workspace, reference));
    return {};
  }
  ModelVersion& model = result.model;
  if (manifest)
    SLIPWAY_TRY(runs::add_snapshot(writer, model.workspace, *manifest, clock_.now()));
  else
    SLIPWAY_TRY(runs::check_snapshot(writer, model.workspace, model.manifest));  // it may just have expired
  model.created_at = clock_.now();
  model.modified_at = model.created_at;
  SLIPWAY_TRY(insert_model(writer, model));
  SLIPWAY_TRY(hold_samples(writer, model));
  return store::remember_made(writer, wanted.request, to_text(reference_of(model)), model.created_at);
}

Result<Registered> Registry::add(const NewModel& wanted) {
  SLIPWAY_TRY(check_model_name(wanted.name));
  SLIPWAY_TRY(check_framework_version(wanted.framework_version));
  Registered result;
  ModelVersion& model = result.model;
  model.workspace = wanted.workspace;
  model.name = wanted.name;
  model.framework = wanted.framework;
  model.framework_version = wanted.framework_version;
  model.environment = wanted.environment;
  model.description = wanted.description;
  model.resources = wanted.resources;
  model.sample_input = wanted.sample_input;
  model.sample_output = wanted.sample_output;
  model.tags = wanted.tags;
  model.properties = wanted.properties;
  model.created_by = wanted.created_by;
  model.trial = first_trial(wanted);
  std::optional<snapshot::Manifest> manifest;
  SLIPWAY_TRY(describe_files(wanted, model, manifest));
  const auto hold = blobs_.hold();  // until the manifest has its reference
  if (manifest) SLIPWAY_TRY(blobs_.put(manifest->text()));
  SLIPWAY_TRY(database_.write(
      [&](store::Writer& writer) { return store_version(writer, wanted, manifest, result); }));
  SLIPWAY_FAILPOINT("model.after_commit");
  look_at_trial(trials_, model);
  return result;
}

Result<ModelVersion> Registry::find(const WorkspaceName& workspace, const ModelReference& reference) {
  ModelVersion model;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(model, load_model(reader, workspace, reference));
    return {};
  }));
  look_at_trial(trials_, model);
  return model;
}

Result<snapshot::Manifest> Registry::files(const ModelVersion& model) {
  return snapshots_.load(model.workspace, model.manifest);
}

Result<ModelVersion> Registry::change(const WorkspaceName& workspace, const ModelReference& reference,
                                      const ModelChange& change) {
  if (change.framework_version) SLIPWAY_TRY(check_framework_version(*change.framework_version));
  ModelVersion model;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(model, load_model(writer, workspace, reference));
    if (change.description) model.description = *change.description;
    if (change.framework) model.framework = *change.framework;
    if (change.framework_version) model.framework_version = *change.framework_version;
    if (change.environment) {
      model.environment = *change.environment;
      SLIPWAY_TRY(pin_environment(writer, workspace, model.environment));
    }
    if (change.resources) model.resources = *change.resources;
    if (change.sample_input) model.sample_input = *change.sample_input;
    if (change.sample_output) model.sample_output = *change.sample_output;
    SLIPWAY_TRY(check_sample(writer, workspace, model.sample_input));
    SLIPWAY_TRY(check_sample(writer, workspace, model.sample_output));
    model.modified_at = clock_.now();
    SLIPWAY_TRY(store_facts(writer, model));
    SLIPWAY_TRY(hold_samples(writer, model));
    SLIPWAY_TRY(add_properties(writer, model, change.properties));
    SLIPWAY_TRY(set_tags(writer, model, change.tags));
    for (const std::string& key : change.remove_tags) SLIPWAY_TRY(remove_tag(writer, model, key));
    SLIPWAY_ASSIGN(model, load_model(writer, workspace, reference_of(model)));
    return {};
  }));
  look_at_trial(trials_, model);
  return model;
}

Result<std::vector<ModelVersion>> Registry::remove(const WorkspaceName& workspace,
                                                   const ModelReference& reference) {
  std::vector<ModelVersion> doomed;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    doomed.clear();
    SLIPWAY_ASSIGN(ModelVersion newest, load_model(writer, workspace, reference));
    if (reference.version == 0) {
      ModelFilter all;
      all.name = newest.name;
      all.limit = INT64_MAX;
      SLIPWAY_ASSIGN(doomed, list_models(writer, workspace, all));
    } else {
      doomed.push_back(std::move(newest));
    }
    for (const ModelVersion& model : doomed) SLIPWAY_TRY(check_unused(writer, model));
    for (const ModelVersion& model : doomed) {
      SLIPWAY_TRY(delete_model(writer, model));
      SLIPWAY_TRY(blobs::drop_references(writer, owner_of(model)));
      SLIPWAY_TRY(runs::drop_unused_snapshot(writer, workspace, model.manifest));
      SLIPWAY_TRY(runs::drop_unused_snapshot(writer, workspace, code_snapshot_of(model)));
    }
    return {};
  }));
  return doomed;
}

}  // namespace slipway::models
