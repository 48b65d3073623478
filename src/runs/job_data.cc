#include "runs/job_data.h"

#include <fmt/format.h>

#include "base/file.h"
#include "blobs/references.h"
#include "data/dataset_table.h"
#include "data/datastores.h"
#include "runs/run_outputs.h"

namespace slipway::runs {
namespace {

constexpr std::string_view kDefaultOutputPath = "dataset/{run-id}/{output-name}";

// The error with the name of the input or output it is about.
Error about(std::string_view what, const std::string& name, Error error) {
  error.message = fmt::format("{} '{}': {}", what, name, error.message);
  return error;
}

Status pin_input(store::Reader& reader, const WorkspaceName& workspace, JobInput& input) {
  SLIPWAY_ASSIGN(const data::DatasetRef ref, data::parse_dataset_ref(input.dataset));
  SLIPWAY_ASSIGN(const data::VersionRecord record, data::find_version(reader, workspace, ref));
  input.dataset = data::to_text(record);
  return {};
}

Status pin_output(store::Reader& reader, const WorkspaceName& workspace, JobOutput& output) {
  const std::string wanted = output.datastore.empty() ? std::string(data::kDefaultAlias) : output.datastore;
  SLIPWAY_ASSIGN(const data::DatastoreSpec spec, data::find_datastore(reader, workspace, wanted));
  if (spec.kind == data::SourceKind::kHttp)
    return fail(ErrorCode::kInvalidArgument, fmt::format("the datastore '{}' is read only", spec.name),
                "choose a folder or the workspace's own store");
  if (!output.path.empty() && !is_clean_relative_path(output.path))
    return fail(ErrorCode::kInvalidArgument, "its path is no path below a datastore",
                "paths are relative, without '..', empty components and backslashes");
  if (!output.register_as.empty()) SLIPWAY_TRY(check_name(output.register_as, "dataset", 255));
  output.datastore = spec.name;
  return {};
}

// The references of one argument: `known` says whether the job has that input or output.
template <class Names>
Status check_kind(std::string_view argument, std::string_view kind, const Names& names) {
  const std::string opening = fmt::format("${{{}s.", kind);
  for (size_t at = argument.find(opening); at != std::string_view::npos;
       at = argument.find(opening, at + 1)) {
    const size_t end = argument.find('}', at);
    if (end == std::string_view::npos)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the command has '{}' without a '}}' behind it", opening));
    const std::string name(argument.substr(at + opening.size(), end - at - opening.size()));
    if (names.contains(name)) continue;
    std::string known;
    for (const auto& [each, value] : names) known += fmt::format("{}{}", known.empty() ? "" : ", ", each);
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the command names the {} '{}', which the job has not", kind, name.substr(0, 64)),
                known.empty() ? fmt::format("say which one: --{} {}=...", kind, name.substr(0, 64))
                              : fmt::format("it has {}", known));
  }
  return {};
}

std::string replaced(std::string text, std::string_view what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

}  // namespace

Status check_references(const Job& job) {
  for (const std::string& argument : job.command) {
    SLIPWAY_TRY(check_kind(argument, "input", job.inputs));
    SLIPWAY_TRY(check_kind(argument, "output", job.outputs));
  }
  for (const auto& [name, output] : job.outputs)
    if (job.inputs.contains(name))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is an input and an output: both become an environment variable", name),
                  "give one of them another name");
  return {};
}

Status pin_data(store::Reader& reader, const WorkspaceName& workspace, Job& job) {
  SLIPWAY_TRY(check_references(job));
  for (auto& [name, input] : job.inputs)
    if (Status pinned = pin_input(reader, workspace, input); !pinned)
      return fail(about("the input", name, std::move(pinned).error()));
  for (auto& [name, output] : job.outputs)
    if (Status pinned = pin_output(reader, workspace, output); !pinned)
      return fail(about("the output", name, std::move(pinned).error()));
  return {};
}

Status record_inputs(store::Writer& writer, const Run& run) {
  for (const auto& [name, input] : run.job.inputs) {
    SLIPWAY_ASSIGN(const data::DatasetRef ref, data::parse_dataset_ref(input.dataset));
    // Asked again, since the version may have been deleted since it was pinned.
    SLIPWAY_ASSIGN(const data::VersionRecord record, data::find_version(writer, run.workspace, ref));
    SLIPWAY_TRY(
        writer.run("INSERT INTO run_inputs (run, input, workspace, dataset, version) VALUES (?, ?, ?, ?, ?)",
                   {run.id, name, run.workspace, record.name, record.version}));
  }
  return {};
}

Result<std::vector<InputOrder>> input_orders(store::Reader& reader, const Run& run) {
  std::vector<InputOrder> orders;
  for (const auto& [name, input] : run.job.inputs) {
    SLIPWAY_ASSIGN(const data::DatasetRef ref, data::parse_dataset_ref(input.dataset));
    auto record = data::find_version(reader, run.workspace, ref);
    if (!record) return fail(about("the input", name, std::move(record).error()));
    orders.push_back({.name = name,
                      .dataset = record->name,
                      .version = record->version,
                      .manifest = record->manifest.hex(),
                      .files = record->files,
                      .bytes = record->bytes,
                      .wanted = input});
  }
  return orders;
}

std::string output_path(const Run& run, const std::string& output) {
  const auto found = run.job.outputs.find(output);
  std::string path = found == run.job.outputs.end() || found->second.path.empty()
                         ? std::string(kDefaultOutputPath)
                         : found->second.path;
  path = replaced(std::move(path), "{run-id}", run.id.str());
  return replaced(std::move(path), "{output-name}", output);
}

Result<json::object> describe_data(store::Reader& reader, const Run& run) {
  json::array inputs;
  SLIPWAY_TRY(reader.query(
      "SELECT input, dataset, version, placed FROM run_inputs WHERE run = ? ORDER BY input", {run.id},
      [&](const store::Row& row) {
        json::object input{{"name", row.text(0)}, {"dataset", row.text(1)}, {"version", row.integer(2)}};
        if (const auto named = run.job.inputs.find(std::string(row.text(0))); named != run.job.inputs.end()) {
          input["mode"] = to_text(named->second.mode);
          input["verify"] = named->second.verify;
        }
        input["path"] = nullptr;
        if (const auto placed = parse_json_object(row.is_null(3) ? "{}" : row.text(3), "an input's place"))
          for (const auto& [key, value] : *placed) input[key] = value;
        inputs.push_back(std::move(input));
      }));
  SLIPWAY_ASSIGN(json::array outputs, describe_outputs(reader, run));
  return json::object{{"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
}

Status delete_run_data(store::Writer& writer, const RunId& run) {
  SLIPWAY_TRY(writer.run("DELETE FROM run_inputs WHERE run = ?", {run}));
  SLIPWAY_TRY(writer.run("DELETE FROM run_models WHERE run = ?", {run}));
  SLIPWAY_TRY(blobs::drop_references(writer, output_owner(run)));
  return writer.run("DELETE FROM run_outputs WHERE run = ?", {run});
}

}  // namespace slipway::runs
