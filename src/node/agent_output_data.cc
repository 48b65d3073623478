#include "node/agent_output_data.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/file.h"

namespace slipway::node {
namespace {

constexpr const char* kFolder = "data";
constexpr size_t kSlice = 1000;  // files hashed, sent and put together

// "data/model/a/b" -> "model" and "a/b".
struct OutputPath {
  std::string output;
  std::string rest;
};
OutputPath split(const std::string& path) {
  const size_t begin = path.find('/') + 1;
  const size_t slash = path.find('/', begin);
  return {.output = path.substr(begin, slash - begin), .rest = path.substr(slash + 1)};
}

}  // namespace

Result<std::map<std::string, std::string>> DataOutputs::make(const AttemptOrder& order,
                                                             const std::filesystem::path& folder) {
  std::map<std::string, std::string> paths;
  for (const auto& [name, output] : order.job.outputs) {
    const std::filesystem::path path = folder / kFolder / name;
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return fail(errno_error(error.value(), fmt::format("create {}", path.string())));
    paths.emplace(name, path.string());
  }
  return paths;
}

DataOutputs::DataOutputs(ServerLink& server, const AttemptOrder& order, const std::filesystem::path& folder)
    : server_(server),
      order_(order),
      folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {}

std::vector<FoundFile> DataOutputs::walk(bool mounts_only, std::vector<SkippedFile>& skipped) const {
  std::vector<FoundFile> files;
  if (!folder_) return files;
  for (const auto& [name, output] : order_.job.outputs) {
    if (mounts_only && output.mode != OutputMode::kMount) continue;
    FoundOutputs found = walk_outputs(folder_.get(), fmt::format("{}/{}", kFolder, name));
    std::ranges::move(found.files, std::back_inserter(files));
    std::ranges::move(found.skipped, std::back_inserter(skipped));
  }
  std::erase_if(files, [this](const FoundFile& file) {
    const auto kept = kept_.find(file.path);
    return kept != kept_.end() && kept->second == file.stamp;
  });
  return files;
}

std::vector<FoundFile> DataOutputs::due(Duration settled) const {
  std::vector<SkippedFile> ignored;
  std::vector<FoundFile> files = walk(true, ignored);
  const int64_t now = SystemClock().now().micros;
  std::erase_if(
      files, [&](const FoundFile& file) { return file.stamp.modified_nanos / 1000 + settled.count() > now; });
  return files;
}

Status DataOutputs::keep(const std::vector<FoundFile>& files) {
  std::vector<SkippedFile> ignored;
  for (size_t at = 0; at < files.size(); at += kSlice)
    SLIPWAY_TRY(keep_slice(std::span(files).subspan(at, std::min(kSlice, files.size() - at)), ignored));
  return {};
}

Status DataOutputs::keep_all() {
  std::vector<SkippedFile> skipped;
  const std::vector<FoundFile> files = walk(false, skipped);
  for (size_t at = 0; at < files.size(); at += kSlice)
    SLIPWAY_TRY(keep_slice(std::span(files).subspan(at, std::min(kSlice, files.size() - at)), skipped));
  if (skipped.empty()) return {};
  json::array left_out;
  for (const SkippedFile& file : skipped) left_out.push_back({{"path", file.path}, {"why", file.why}});
  const json::object body{{"files", json::array()}, {"skipped", std::move(left_out)}};
  SLIPWAY_ASSIGN(const json::object answer, server_.post(server_.attempt_target(order_.key, "files"), body));
  return {};
}

Status DataOutputs::keep_slice(std::span<const FoundFile> files, std::vector<SkippedFile>& skipped) {
  std::vector<HashedFile> hashed;
  for (const FoundFile& file : files) {
    auto one = hash_output(folder_.get(), file.path);
    if (one) hashed.push_back(std::move(*one));
    if (!one) skipped.push_back({file.path, one.error().message});
  }
  OutputUploader uploader(server_, order_.workspace, order_.run_token, folder_.get());
  SLIPWAY_ASSIGN(const Unsent unsent, uploader.upload(hashed));
  for (const auto& [path, error] : unsent) skipped.push_back({path, error.message});
  std::map<std::string, std::vector<HashedFile>> by_output;
  for (HashedFile& file : hashed)
    if (!unsent.contains(file.file.path)) by_output[split(file.file.path).output].push_back(std::move(file));
  for (const auto& [output, group] : by_output) SLIPWAY_TRY(put(output, group, skipped));
  return {};
}

Status DataOutputs::put(const std::string& output, const std::vector<HashedFile>& files,
                        std::vector<SkippedFile>& skipped) {
  json::array list;
  for (const HashedFile& file : files)
    list.push_back({{"path", split(file.file.path).rest},
                    {"digest", file.digest.hex()},
                    {"size", file.file.stamp.size}});
  const auto answer =
      server_.post(server_.attempt_target(order_.key, "outputs/" + output), {{"files", std::move(list)}});
  // Refused for good, as when something else is there already: said with the run, which ends all the same.
  if (!answer && verdict(answer.error()) != Verdict::kRefused) return fail(answer.error());
  for (const HashedFile& file : files) {
    kept_[file.file.path] = file.file.stamp;
    if (!answer) skipped.push_back({file.file.path, answer.error().message});
  }
  return {};
}

}  // namespace slipway::node
