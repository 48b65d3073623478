#include "models/origin.h"

#include <fmt/format.h>

#include "base/file.h"

namespace slipway::models {
namespace {

// Behind every path below a folder: '0' follows '/'.
std::string end_of_folder(const std::string& path) {
  return path + "0";
}

std::unexpected<Error> nothing_there(const runs::Run& run, const std::string& path) {
  std::string next = fmt::format("slipway run files {} shows what it has kept", run.id);
  if (!runs::is_final(run.state))
    next = fmt::format("it is {}: what is in ./outputs is kept as it goes, all of it when it ends\n{}",
                       to_text(run.state), next);
  return fail(ErrorCode::kNotFound, fmt::format("{} has kept no file at '{}'", run.id, path.substr(0, 128)),
              std::move(next));
}

}  // namespace

Result<snapshot::Manifest> manifest_of_run(store::Reader& reader, const runs::Run& run,
                                           const std::string& path) {
  std::string wanted = path;
  while (wanted.starts_with("./")) wanted.erase(0, 2);
  while (wanted.ends_with('/')) wanted.pop_back();
  if (!is_clean_relative_path(wanted))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no path of a run's files", path.substr(0, 128)),
                "name a file or a folder that the run has kept, such as outputs/model, without '..'");
  const size_t slash = wanted.rfind('/');
  const size_t cut = slash == std::string::npos ? 0 : slash + 1;
  std::vector<snapshot::Entry> entries;
  Status readable;
  SLIPWAY_TRY(
      reader.query("SELECT path, digest, size, mode FROM run_files WHERE run = ? AND (path = ? OR (path > ? "
                   "AND path < ?)) "
                   "ORDER BY path",
                   {run.id, wanted, wanted + "/", end_of_folder(wanted)}, [&](const store::Row& row) {
                     auto digest = Digest::parse(row.text(1));
                     if (!digest) {
                       readable = fail(std::move(digest).error());
                       return;
                     }
                     const bool executable = (row.integer(3) & 0100) != 0;
                     entries.push_back({.path = std::string(row.text(0).substr(cut)),
                                        .mode = executable ? 0755 : 0644,
                                        .size = static_cast<uint64_t>(row.integer(2)),
                                        .digest = *digest});
                   }));
  SLIPWAY_TRY(readable);
  if (entries.empty()) return nothing_there(run, path);
  return snapshot::Manifest::from_entries(std::move(entries));
}

json::object code_of(const runs::Run& run) {
  const json::object job = slipway::to_json(run.job);
  json::object code;
  for (const char* field : {"snapshot", "git", "command", "environment"}) code[field] = job.at(field);
  return code;
}

Result<std::map<std::string, std::string>> datasets_of(store::Reader& reader, const runs::Run& run) {
  std::map<std::string, std::string> datasets;
  SLIPWAY_TRY(reader.query("SELECT input, dataset, version FROM run_inputs WHERE run = ?", {run.id},
                           [&](const store::Row& row) {
                             datasets.emplace(row.text(0), fmt::format("{}:{}", row.text(1), row.integer(2)));
                           }));
  return datasets;
}

}  // namespace slipway::models
