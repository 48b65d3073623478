#include "runs/run_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/failpoint.h"
#include "base/file.h"
#include "blobs/references.h"
#include "data/dataset_table.h"
#include "runs/attempt_table.h"
#include "runs/job_data.h"
#include "runs/run_table.h"

namespace slipway::runs {
namespace {

constexpr size_t kPiece = 1 << 20;

struct OutputRow {
  std::string output;
  std::string datastore;
  std::string path;
  std::string manifest;
  uint64_t files = 0;
  uint64_t bytes = 0;
  int attempt = 0;
  std::string dataset;
  std::optional<int64_t> version;
};

Result<std::vector<OutputRow>> rows_of(store::Reader& reader, const RunId& run) {
  std::vector<OutputRow> rows;
  SLIPWAY_TRY(reader.query(
      "SELECT output, datastore, path, manifest, files, bytes, attempt, dataset, version FROM run_outputs "
      "WHERE run = ? ORDER BY output",
      {run}, [&](const store::Row& row) {
        rows.push_back({.output = std::string(row.text(0)),
                        .datastore = std::string(row.text(1)),
                        .path = std::string(row.text(2)),
                        .manifest = std::string(row.text(3)),
                        .files = static_cast<uint64_t>(row.integer(4)),
                        .bytes = static_cast<uint64_t>(row.integer(5)),
                        .attempt = static_cast<int>(row.integer(6)),
                        .dataset = std::string(row.text(7)),
                        .version = row.maybe_integer(8)});
      }));
  return rows;
}

// Below an output's folder, as its dataset lays them out.
Status check_files(const std::vector<data::StoredFile>& files) {
  for (const data::StoredFile& file : files)
    if (!is_clean_relative_path(file.path))
      return fail(ErrorCode::kInvalidArgument, "a file of the output does not have a clean relative path");
  return {};
}

data::Pieces pieces_of(const blobs::OpenBlob& blob) {
  return [&blob, offset = uint64_t{0},
          buffer = std::vector<char>(kPiece)]() mutable -> Result<std::string_view> {
    const ssize_t count = ::pread(blob.fd.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (count < 0) return fail(errno_error(errno, "read a blob"));
    offset += static_cast<uint64_t>(count);
    return std::string_view(buffer.data(), static_cast<size_t>(count));
  };
}

// A dataset that was asked for and is not there has a reason that the run's record tells.
Status warn_of_empty_outputs(store::Writer& writer, Run& run, const std::vector<OutputRow>& rows) {
  const size_t before = run.warnings.size();
  for (const auto& [name, wanted] : run.job.outputs) {
    const auto row = std::ranges::find(rows, name, &OutputRow::output);
    if (wanted.register_as.empty() || (row != rows.end() && row->files > 0)) continue;
    run.warnings.push_back(
        fmt::format("nothing was written into the output '{}': the dataset '{}' has no "
                    "new version",
                    name, wanted.register_as));
  }
  return run.warnings.size() == before ? Status() : store_warnings(writer, run);
}

}  // namespace

std::string output_owner(const RunId& run) {
  return fmt::format("run-output/{}", run);
}

Result<data::OpenDatastore> RunOutputs::open_for(const Run& run, const JobOutput& wanted) {
  auto opened = datasets_.datastores().open(run.workspace, wanted.datastore);
  if (opened || opened.error().code != ErrorCode::kNotFound) return opened;
  // It was there at the submission and will not come back by itself: the node is not to ask again.
  return fail(ErrorCode::kConflict, fmt::format("the datastore '{}' has been removed", wanted.datastore),
              "add it again and repeat the run");
}

Status RunOutputs::place(const Run& run, const std::string& output, const std::string& folder,
                         const std::vector<data::StoredFile>& files) {
  const JobOutput& wanted = run.job.outputs.at(output);
  // A path that holds the run's id is the run's own: an earlier attempt's files make room.
  const bool overwrite = wanted.overwrite || folder.contains(run.id.str());
  SLIPWAY_ASSIGN(const data::OpenDatastore opened, open_for(run, wanted));
  if (opened.store->kind() == data::SourceKind::kWorkspace) {
    std::vector<data::StoredFile> placed = files;
    for (data::StoredFile& file : placed) file.path = folder + "/" + file.path;
    data::WorkspaceDatastore own = datasets_.datastores().own(run.workspace, opened.name);
    SLIPWAY_TRY(own.add(placed, overwrite ? data::Existing::kReplace : data::Existing::kRefuse));
    return {};
  }
  for (const data::StoredFile& file : files) {
    SLIPWAY_ASSIGN(const blobs::OpenBlob blob, blobs_.open(file.digest));
    SLIPWAY_TRY(opened.store->write(folder + "/" + file.path, pieces_of(blob), overwrite));
  }
  return {};
}

// Together with what other nodes of the same attempt have left.
Result<data::Manifest> RunOutputs::merged(const Run& run, const std::string& output,
                                          const std::string& folder, int attempt,
                                          const std::vector<data::StoredFile>& files) {
  const JobOutput& wanted = run.job.outputs.at(output);
  SLIPWAY_ASSIGN(const data::DatastoreSpec spec,
                 datasets_.datastores().find(run.workspace, wanted.datastore));
  std::vector<OutputRow> rows;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(rows, rows_of(reader, run.id));
    return {};
  }));
  std::map<std::string, data::File> all;
  const auto before = std::ranges::find(rows, output, &OutputRow::output);
  if (before != rows.end() && before->attempt == attempt) {
    SLIPWAY_ASSIGN(const Digest digest, Digest::parse(before->manifest));
    SLIPWAY_ASSIGN(const auto manifest, datasets_.manifest(digest));
    for (const data::File& file : manifest->files()) all.emplace(file.path, file);
  }
  for (const data::StoredFile& file : files)
    all[file.path] = {.path = file.path,
                      .size = file.size,
                      .digest = file.digest,
                      .source = 0,
                      .key = folder + "/" + file.path};
  std::vector<data::File> list;
  for (auto& [path, file] : all) list.push_back(std::move(file));
  return data::Manifest::make({{.kind = spec.kind, .datastore = spec.name}}, std::move(list));
}

Result<StoredOutput> RunOutputs::take(const NodeId& node, const AttemptKey& key, const std::string& output,
                                      const std::vector<data::StoredFile>& files) {
  SLIPWAY_TRY(check_files(files));
  Run run;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_TRY(load_open_part(reader, node, key));
    SLIPWAY_ASSIGN(run, load_run(reader, key.run));
    return {};
  }));
  if (!run.job.outputs.contains(output))
    return fail(ErrorCode::kNotFound,
                fmt::format("the run {} has no output '{}'", run.id, output.substr(0, 64)));
  const std::string folder = output_path(run, output);
  SLIPWAY_TRY(place(run, output, folder, files));
  SLIPWAY_ASSIGN(const data::Manifest manifest, merged(run, output, folder, key.attempt, files));
  const std::vector<Digest> blobs = data::own_blobs(manifest);
  const auto hold = blobs_.hold();  // until the row refers to the manifest
  SLIPWAY_ASSIGN(const Digest id, blobs_.put(manifest.text()));
  SLIPWAY_FAILPOINT("data.before_output");
  const JobOutput& wanted = run.job.outputs.at(output);
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_TRY(load_open_part(writer, node, key));
    SLIPWAY_TRY(blobs::add_reference(writer, id, output_owner(run.id), run.workspace, std::nullopt));
    for (const Digest& blob : blobs)
      SLIPWAY_TRY(blobs::add_reference(writer, blob, output_owner(run.id), run.workspace, std::nullopt));
    return writer.run(
        "INSERT INTO run_outputs (run, output, attempt, datastore, path, manifest, files, bytes, dataset) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, output) DO UPDATE SET attempt = "
        "excluded.attempt, manifest = excluded.manifest, files = excluded.files, bytes = excluded.bytes",
        {run.id, output, key.attempt, wanted.datastore, folder, id.hex(), manifest.files().size(),
         manifest.total_bytes(), wanted.register_as});
  }));
  return StoredOutput{.datastore = wanted.datastore,
                      .path = folder,
                      .files = manifest.files().size(),
                      .bytes = manifest.total_bytes()};
}

Status register_outputs(store::Writer& writer, Run& run, Timestamp now) {
  SLIPWAY_ASSIGN(const auto rows, rows_of(writer, run.id));
  SLIPWAY_TRY(warn_of_empty_outputs(writer, run, rows));
  for (const OutputRow& row : rows) {
    if (row.dataset.empty() || row.version || row.files == 0) continue;
    SLIPWAY_ASSIGN(const Digest manifest, Digest::parse(row.manifest));
    // Every blob of the run's outputs: a few too many where it has several, and none too few.
    std::vector<Digest> blobs;
    SLIPWAY_TRY(writer.query("SELECT digest FROM blob_refs WHERE owner = ?", {output_owner(run.id)},
                             [&](const store::Row& found) {
                               if (const auto digest = Digest::parse(found.text(0))) blobs.push_back(*digest);
                             }));
    data::VersionRecord record{.name = row.dataset,
                               .version = 1,
                               .definition = {.paths = {fmt::format("{}:{}", row.datastore, row.path)}},
                               .manifest = manifest,
                               .files = row.files,
                               .bytes = row.bytes,
                               .description = "",
                               .tags = {},
                               .produced_by = run.id,
                               .output = row.output,
                               .created_by = run.submitted_by,
                               .created_at = now};
    SLIPWAY_TRY(data::insert_version(writer, run.workspace, record, blobs));
    SLIPWAY_TRY(writer.run("UPDATE run_outputs SET version = ? WHERE run = ? AND output = ?",
                           {record.version, run.id, row.output}));
  }
  return {};
}

Result<json::array> describe_outputs(store::Reader& reader, const Run& run) {
  SLIPWAY_ASSIGN(const auto rows, rows_of(reader, run.id));
  json::array outputs;
  for (const auto& [name, wanted] : run.job.outputs) {
    json::object output{{"name", name},
                        {"datastore", wanted.datastore},
                        {"path", output_path(run, name)},
                        {"register_as", wanted.register_as},
                        {"files", nullptr},
                        {"bytes", nullptr},
                        {"version", nullptr}};
    if (const auto row = std::ranges::find(rows, name, &OutputRow::output); row != rows.end()) {
      output["files"] = row->files;
      output["bytes"] = row->bytes;
      if (row->version) output["version"] = *row->version;
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace slipway::runs
