#include "node/agent_outputs.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/log.h"

namespace slipway::node {
namespace {

constexpr const char* kOutputs = "outputs";
constexpr const char* kRestored = "restored";
constexpr size_t kSlice = 1000;        // files hashed, sent and reported together
constexpr size_t kMaxAsked = 100'000;  // paths a job may ask for
constexpr int kRounds = 3;             // for a file that changes while it is read

std::vector<FoundFile> with_paths(const std::vector<FoundFile>& files, const Unsent& wanted) {
  std::vector<FoundFile> found;
  std::ranges::copy_if(files, std::back_inserter(found),
                       [&](const FoundFile& file) { return wanted.contains(file.path); });
  return found;
}

}  // namespace

Status note_restored(const std::filesystem::path& folder) {
  const UniqueFd work(::open((folder / "work").c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!work) return fail(errno_error(errno, "open the working folder"));
  std::string lines;
  for (const FoundFile& file : walk_outputs(work.get(), kOutputs).files)
    lines += json::serialize(json::object{{"path", file.path},
                                          {"size", file.stamp.size},
                                          {"inode", file.stamp.inode},
                                          {"modified", file.stamp.modified_nanos},
                                          {"changed", file.stamp.changed_nanos}}) +
             "\n";
  return replace_file(folder / kRestored, lines);
}

OutputKeeper::OutputKeeper(ServerLink& server, AttemptOrder order, std::filesystem::path folder)
    : server_(server),
      order_(std::move(order)),
      folder_(std::move(folder)),
      work_(::open((folder_ / "work").c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
  load_asked();
  load_restored();
}

void OutputKeeper::load_asked() {
  const auto text = read_file(folder_ / "keep");
  if (!text) return;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const auto path = parse_json(std::string_view(*text).substr(at, end - at), "a path to keep");
    if (path && path->is_string()) asked_.emplace(path->get_string());
    at = end + 1;
  }
}

void OutputKeeper::load_restored() {
  const auto text = read_file(folder_ / kRestored);
  if (!text) return;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const auto line = parse_json_object(std::string_view(*text).substr(at, end - at), "a restored file");
    at = end + 1;
    if (!line) continue;
    std::string path;
    FileStamp stamp;
    JsonFields fields(*line, "a restored file");
    fields.required("path", path);
    fields.required("size", stamp.size);
    fields.required("inode", stamp.inode);
    fields.required("modified", stamp.modified_nanos);
    fields.required("changed", stamp.changed_nanos);
    if (fields.finish()) kept_.insert_or_assign(std::move(path), stamp);
  }
}

void OutputKeeper::ask(const std::vector<std::string>& paths) {
  std::string lines;
  const std::lock_guard lock(asked_mutex_);
  for (const std::string& path : paths) {
    if (asked_.size() >= kMaxAsked || !asked_.insert(path).second) continue;
    lines += json::serialize(json::string(path)) + "\n";
  }
  if (lines.empty()) return;
  const UniqueFd file(::open((folder_ / "keep").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const Status written = file ? write_all(file.get(), lines) : Status(fail(errno_error(errno, "open keep")));
  if (!written)
    log_warning("agent.keep_unwritten", {{"attempt", to_text(order_.key)}, {"error", written.error()}});
}

// Files outside ./outputs that the job asked for; those inside are found by the walk.
std::vector<FoundFile> OutputKeeper::asked_files(std::vector<SkippedFile>& skipped) {
  std::set<std::string> asked;
  {
    const std::lock_guard lock(asked_mutex_);
    asked = asked_;
  }
  std::vector<FoundFile> files;
  for (const std::string& path : asked) {
    if (path.starts_with("outputs/")) continue;
    auto opened = open_output(work_.get(), path);
    if (opened) {
      files.push_back(std::move(opened->file));
    } else {
      skipped.push_back({path, opened.error().message});
    }
  }
  return files;
}

std::vector<FoundFile> OutputKeeper::due(Duration settled) {
  if (!work_) return {};
  FoundOutputs found = walk_outputs(work_.get(), kOutputs);
  std::vector<SkippedFile> ignored;
  const int64_t now = SystemClock().now().micros;
  std::vector<FoundFile> due;
  for (FoundFile& file : found.files) {
    const bool quiet = file.stamp.modified_nanos / 1000 + settled.count() <= now;
    const bool asked = [&] {
      const std::lock_guard lock(asked_mutex_);
      return asked_.contains(file.path);
    }();
    if (!quiet && !asked) continue;
    const auto kept = kept_.find(file.path);
    if (kept == kept_.end() || kept->second != file.stamp) due.push_back(std::move(file));
  }
  for (FoundFile& file : asked_files(ignored)) {
    const auto kept = kept_.find(file.path);
    if (kept == kept_.end() || kept->second != file.stamp) due.push_back(std::move(file));
  }
  return due;
}

Status OutputKeeper::keep(const std::vector<FoundFile>& files) {
  for (size_t at = 0; at < files.size(); at += kSlice) {
    const auto begin = files.begin() + static_cast<ptrdiff_t>(at);
    const auto end = files.begin() + static_cast<ptrdiff_t>(std::min(files.size(), at + kSlice));
    if (auto skipped = keep_slice({begin, end}); !skipped) return fail(std::move(skipped).error());
  }
  return {};
}

Status OutputKeeper::keep_all() {
  if (!work_) return {};
  FoundOutputs found = walk_outputs(work_.get(), kOutputs);
  std::vector<FoundFile> files = std::move(found.files);
  for (FoundFile& file : asked_files(found.skipped)) files.push_back(std::move(file));
  std::erase_if(files, [this](const FoundFile& file) {
    const auto kept = kept_.find(file.path);
    return kept != kept_.end() && kept->second == file.stamp;
  });
  for (size_t at = 0; at < files.size(); at += kSlice) {
    const auto begin = files.begin() + static_cast<ptrdiff_t>(at);
    const auto end = files.begin() + static_cast<ptrdiff_t>(std::min(files.size(), at + kSlice));
    SLIPWAY_ASSIGN(const std::vector<SkippedFile> skipped, keep_slice({begin, end}));
    found.skipped.insert(found.skipped.end(), skipped.begin(), skipped.end());
  }
  if (found.skipped.empty()) return {};
  return report({}, found.skipped);
}

// Hashes, sends and reports some files; a few rounds for those that change meanwhile. Gives those that did
// not go.
Result<std::vector<SkippedFile>> OutputKeeper::keep_slice(const std::vector<FoundFile>& files) {
  std::vector<SkippedFile> skipped;
  OutputUploader uploader(server_, order_.workspace, order_.run_token, work_.get());
  std::vector<FoundFile> wanted = files;
  for (int round = 1; !wanted.empty(); ++round) {
    std::vector<HashedFile> hashed = hash(wanted, skipped);
    SLIPWAY_ASSIGN(const Unsent unsent, uploader.upload(hashed));
    std::erase_if(hashed, [&](const HashedFile& file) { return unsent.contains(file.file.path); });
    if (!hashed.empty()) SLIPWAY_TRY(report(hashed, {}));
    for (const HashedFile& file : hashed) kept_[file.file.path] = file.file.stamp;
    if (round == kRounds) {
      for (const auto& [path, error] : unsent) skipped.push_back({path, error.message});
      break;
    }
    wanted = with_paths(wanted, unsent);
  }
  return skipped;
}

std::vector<HashedFile> OutputKeeper::hash(const std::vector<FoundFile>& files,
                                           std::vector<SkippedFile>& skipped) {
  std::vector<HashedFile> hashed;
  for (const FoundFile& file : files) {
    auto one = hash_output(work_.get(), file.path);
    if (one) {
      hashed.push_back(std::move(*one));
    } else {
      skipped.push_back({file.path, one.error().message});
    }
  }
  return hashed;
}

Status OutputKeeper::report(const std::vector<HashedFile>& files, const std::vector<SkippedFile>& skipped) {
  json::array kept;
  for (const HashedFile& file : files) {
    kept.push_back(to_json(OutputFile{.path = file.file.path,
                                      .digest = file.digest.hex(),
                                      .size = file.file.stamp.size,
                                      .mode = file.file.mode}));
  }
  json::array left_out;
  for (const SkippedFile& file : skipped) left_out.push_back({{"path", file.path}, {"why", file.why}});
  const json::object body{{"files", std::move(kept)}, {"skipped", std::move(left_out)}};
  const auto answer = server_.post(server_.attempt_target(order_.key, "files"), body);
  if (answer) return {};
  // The server has lost bytes it had a moment ago: they are sent again with the next try.
  if (answer.error().code == ErrorCode::kConflict)
    return fail(ErrorCode::kUnavailable, answer.error().message);
  return fail(answer.error());
}

}  // namespace slipway::node
