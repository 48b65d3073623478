#include "cli/data_upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/file.h"
#include "cli/answer.h"
#include "cli/quantities.h"
#include "client/upload.h"
#include "http/router.h"
#include "snapshot/hash_file.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFilesAtOnce = 50'000;
constexpr size_t kSkippedShown = 5;

// Data is larger than code: what a snapshot's limits guard against is meant here.
constexpr snapshot::WalkLimits kDataLimits{.files = snapshot::kMaxEntries, .bytes = snapshot::kMaxTotalBytes};

void say_left_out(Console& console, const std::vector<snapshot::SkippedFile>& skipped) {
  if (skipped.empty()) return;
  console.hint(fmt::format("{} not sent:", count_of(static_cast<int64_t>(skipped.size()), "file")));
  for (size_t i = 0; i < std::min(skipped.size(), kSkippedShown); ++i)
    console.hint(fmt::format("  {}: {}", printable(skipped[i].path), printable(skipped[i].why)));
}

// What is sent: a folder and the files of it.
struct Source {
  fs::path folder;
  snapshot::Manifest files;
};

Result<Source> read_source(Context& context, const fs::path& from) {
  std::error_code error;
  const fs::path real = fs::canonical(from, error);
  if (error)
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no file or folder '{}'", printable(from.string())));
  const bool one_file = fs::is_regular_file(real, error);
  const fs::path folder = one_file ? real.parent_path() : real;
  if (one_file) {
    SLIPWAY_ASSIGN(const UniqueFd fd, snapshot::open_source(folder));
    std::vector<char> buffer(1 << 20);
    SLIPWAY_ASSIGN(const auto hashed, snapshot::hash_file(fd.get(), real.filename().string(), buffer, {}));
    SLIPWAY_ASSIGN(auto manifest, snapshot::Manifest::from_entries({{.path = real.filename().string(),
                                                                     .mode = 0644,
                                                                     .size = hashed.stat.size,
                                                                     .digest = hashed.digest}}));
    return Source{.folder = folder, .files = std::move(manifest)};
  }
  snapshot::TakeOptions options;
  options.limits = kDataLimits;
  std::mutex drawing;  // progress comes from several threads
  options.on_progress = [&](const snapshot::HashProgress& at) {
    const std::lock_guard lock(drawing);
    context.console.progress(
        fmt::format("reading {} of {}", bytes_text(at.bytes_done), bytes_text(at.bytes_total)));
  };
  SLIPWAY_ASSIGN(auto taken, snapshot::take_snapshot(folder, options));
  say_left_out(context.console, taken.skipped);
  if (taken.manifest.entries().empty())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the folder '{}' has no files", printable(from.string())));
  return Source{.folder = folder, .files = std::move(taken.manifest)};
}

// Gives the blobs their paths; false: the server lacks some of them.
Result<bool> register_files(client::Requests& requests, const std::string& target, const std::string& prefix,
                            const snapshot::Manifest& files, const std::string& existing,
                            UploadedData& uploaded) {
  const auto& entries = files.entries();
  uploaded.skipped.clear();
  for (size_t start = 0; start < entries.size(); start += kFilesAtOnce) {
    json::array list;
    for (size_t i = start; i < std::min(start + kFilesAtOnce, entries.size()); ++i)
      list.push_back(json::object{{"path", fmt::format("{}{}", prefix, entries[i].path)},
                                  {"digest", entries[i].digest.hex()},
                                  {"size", entries[i].size}});
    const json::object body{{"files", std::move(list)}, {"existing", existing}};
    const auto answer = requests.call(http::Method::kPost, target, &body);
    if (!answer && answer.error().code == ErrorCode::kConflict &&
        answer.error().message.contains("not uploaded"))
      return false;
    if (!answer) return fail(answer.error());
    for (std::string& path : texts_at(*answer, "skipped")) uploaded.skipped.push_back(std::move(path));
  }
  return true;
}

}  // namespace

Result<UploadedData> upload_data(Context& context, Session& session, const UploadWish& wish) {
  UploadedData uploaded;
  SLIPWAY_ASSIGN(const json::object store,
                 session.get(session.in_workspace("/datastores/" + http::percent_encode(wish.datastore))));
  uploaded.datastore = text_at(store, "name");
  if (text_at(store, "kind") != "workspace")
    return fail(ErrorCode::kUnsupported,
                fmt::format("the datastore '{}' is not one of the workspace's own", uploaded.datastore),
                "copy the files to where it lies, or upload to workspaceblobstore");
  SLIPWAY_ASSIGN(const Source source, read_source(context, wish.from));
  uploaded.digest = source.files.id().hex();
  uploaded.path = wish.path.empty() ? "uploads/" + uploaded.digest.substr(0, 16) : wish.path;
  while (uploaded.path.ends_with('/')) uploaded.path.pop_back();
  uploaded.files = source.files.entries().size();
  uploaded.bytes = source.files.total_bytes();
  const std::string target =
      session.in_workspace("/datastores/" + http::percent_encode(uploaded.datastore) + "/files");
  client::UploadOptions options;
  std::mutex drawing;
  options.on_progress = [&](const client::TransferProgress& at) {
    const std::lock_guard lock(drawing);
    context.console.progress(
        fmt::format("sending {} of {}", bytes_text(at.bytes_done), bytes_text(at.bytes_total)));
  };
  options.publish = [&](client::Requests& requests) {
    return register_files(requests, target, uploaded.path + "/", source.files, wish.existing, uploaded);
  };
  auto sent = client::upload_snapshot(session.connection(), source.folder, source.files, options);
  context.console.progress("");
  if (!sent) return fail(session.explained(std::move(sent).error()));
  uploaded.sent_bytes = sent->sent_bytes;
  return uploaded;
}

}  // namespace slipway::cli
