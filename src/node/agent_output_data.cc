#include "node/agent_output_data.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/file.h"
#include "base/log.h"

namespace slipway::node {
namespace {

constexpr const char* kFolder = "data";
constexpr size_t kSlice = 1000;  // files hashed, sent and put together

bool has(const std::map<std::string, FileStamp>& stamps, const FoundFile& file) {
  const auto found = stamps.find(file.path);
  return found != stamps.end() && found->second == file.stamp;
}

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
  std::erase_if(files, [this](const FoundFile& file) { return has(kept_, file); });
  return files;
}

std::vector<FoundFile> DataOutputs::due(Duration settled) const {
  std::vector<SkippedFile> ignored;
  std::vector<FoundFile> files = walk(true, ignored);
  const int64_t now = SystemClock().now().micros;
  std::erase_if(files, [&](const FoundFile& file) {
    return has(refused_, file) || file.stamp.modified_nanos / 1000 + settled.count() > now;
  });
  return files;
}

Status DataOutputs::keep(const std::vector<FoundFile>& files) {
  std::vector<SkippedFile> skipped;
  for (size_t at = 0; at < files.size(); at += kSlice)
    SLIPWAY_TRY(keep_slice(std::span(files).subspan(at, std::min(kSlice, files.size() - at)), skipped));
  for (const SkippedFile& file : skipped)
    log_info("agent.output_later",
             {{"attempt", to_text(order_.key)}, {"file", file.path}, {"why", file.why}});
  return {};
}

Status DataOutputs::keep_all() {
  lost_.clear();
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
    if (!one) lose(file, one.error(), skipped);
  }
  OutputUploader uploader(server_, order_.workspace, order_.run_token, folder_.get());
  SLIPWAY_ASSIGN(const Unsent unsent, uploader.upload(hashed));
  std::map<std::string, std::vector<HashedFile>> by_output;
  for (HashedFile& file : hashed) {
    const auto failed = unsent.find(file.file.path);
    if (failed != unsent.end()) lose(file.file, failed->second, skipped);
    if (failed == unsent.end()) by_output[split(file.file.path).output].push_back(std::move(file));
  }
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
  if (!answer && verdict(answer.error()) != Verdict::kRefused) return fail(answer.error());
  for (const HashedFile& file : files) {
    (answer ? kept_ : refused_)[file.file.path] = file.file.stamp;
    if (!answer) lose(file.file, answer.error(), skipped);
  }
  return {};
}

void DataOutputs::lose(const FoundFile& file, const Error& why, std::vector<SkippedFile>& skipped) {
  skipped.push_back({file.path, why.message});
  if (!lost_.empty()) return;
  lost_ = fmt::format("the output '{}' could not be kept: {}", split(file.path).output, sentence(why));
}

}  // namespace slipway::node
