#include "models/model.h"

#include <fmt/format.h>

#include <array>

#include "base/digest.h"

namespace slipway::models {
namespace {

constexpr size_t kLongestSampleName = 255;

constexpr std::array kTrialStates{Trial::State::kNone, Trial::State::kSkipped, Trial::State::kRunning,
                                  Trial::State::kDone};

json::value id_or_null(const std::optional<RunId>& id) {
  if (!id) return nullptr;
  return json::string(id->str());
}

}  // namespace

json::value to_json(const Sample& sample) {
  if (sample.empty()) return nullptr;
  if (!sample.dataset.empty()) return json::object{{"dataset", sample.dataset}};
  return json::object{{"name", sample.name}, {"digest", sample.digest}, {"size", sample.size}};
}

Result<Sample> sample_from_json(const json::object& object, std::string_view what) {
  Sample sample;
  if (object.empty()) return sample;
  JsonFields fields(object, what);
  fields.optional("dataset", sample.dataset);
  fields.optional("name", sample.name);
  fields.optional("digest", sample.digest);
  fields.optional("size", sample.size);
  SLIPWAY_TRY(fields.finish());
  if (sample.dataset.empty() == sample.digest.empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is a dataset or a file", what),
                R"(write {"dataset": "NAME:VERSION"} or {"name": "...", "digest": "..."})");
  if (!sample.dataset.empty()) return sample;
  SLIPWAY_TRY(Digest::parse(sample.digest));
  if (sample.name.empty() || sample.name.size() > kLongestSampleName || sample.name == "." ||
      sample.name == ".." || sample.name.find('/') != std::string::npos ||
      sample.name.find('\0') != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} has no usable file name", what));
  return sample;
}

std::string_view to_text(Trial::State state) {
  switch (state) {
    case Trial::State::kSkipped: return "skipped";
    case Trial::State::kRunning: return "running";
    case Trial::State::kDone: return "done";
    case Trial::State::kNone: break;
  }
  return "none";
}

json::object to_json(const Trial& trial) {
  json::object object{{"state", to_text(trial.state)},
                      {"number", trial.number},
                      {"run", id_or_null(trial.run)},
                      {"serves", trial.serves ? json::value(*trial.serves) : json::value(nullptr)},
                      {"reason", trial.reason}};
  for (const char* field : {"runtime", "signature", "sample_input", "sample_output", "note"}) {
    const json::value* value = trial.found.if_contains(field);
    object[field] = value == nullptr ? json::value(nullptr) : *value;
  }
  return object;
}

Trial trial_from_json(const json::object& object) {
  Trial trial;
  std::string state;
  std::string run;
  JsonFields fields(object, "a stored trial");
  fields.optional("state", state);
  fields.optional("number", trial.number);
  fields.optional("run", run);
  fields.optional("serves", trial.serves);
  fields.optional("reason", trial.reason);
  for (const Trial::State each : kTrialStates)
    if (to_text(each) == state) trial.state = each;
  if (!run.empty()) trial.run = RunId(std::move(run));
  for (const char* field : {"runtime", "signature", "sample_input", "sample_output", "note"})
    if (const json::value* value = object.if_contains(field); value != nullptr && !value->is_null())
      trial.found[field] = *value;
  return trial;
}

ModelReference reference_of(const ModelVersion& model) {
  return {.name = model.name, .version = model.version};
}

std::string code_snapshot_of(const ModelVersion& model) {
  const json::value* snapshot = model.code.if_contains("snapshot");
  return snapshot != nullptr && snapshot->is_string() ? std::string(snapshot->get_string()) : "";
}

json::object to_json(const ModelVersion& model) {
  return {{"id", to_text(reference_of(model))},
          {"workspace", model.workspace.str()},
          {"name", model.name},
          {"version", model.version},
          {"framework", to_text(model.framework)},
          {"framework_version", model.framework_version},
          {"environment", model.environment},
          {"description", model.description},
          {"snapshot", model.manifest},
          {"files", model.files},
          {"bytes", model.bytes},
          {"resources", slipway::to_json(model.resources)},
          {"sample_input", to_json(model.sample_input)},
          {"sample_output", to_json(model.sample_output)},
          {"run", id_or_null(model.run)},
          {"path", model.path},
          {"code", model.code},
          {"datasets", slipway::to_json(model.datasets)},
          {"tags", slipway::to_json(model.tags)},
          {"properties", slipway::to_json(model.properties)},
          {"trial", to_json(model.trial)},
          {"created_by", model.created_by},
          {"created_at", to_iso8601(model.created_at)},
          {"modified_at", to_iso8601(model.modified_at)}};
}

}  // namespace slipway::models
