#include "cli/local_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/file.h"
#include "cli/quantities.h"
#include "snapshot/hash_file.h"
#include "snapshot/take.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSkippedShown = 5;

// Data and models are larger than code: what a snapshot's limits guard against is meant here.
constexpr snapshot::WalkLimits kLimits{.files = snapshot::kMaxEntries, .bytes = snapshot::kMaxTotalBytes};

void say_left_out(Console& console, const std::vector<snapshot::SkippedFile>& skipped) {
  if (skipped.empty()) return;
  console.hint(fmt::format("{} not sent:", count_of(static_cast<int64_t>(skipped.size()), "file")));
  for (size_t i = 0; i < std::min(skipped.size(), kSkippedShown); ++i)
    console.hint(fmt::format("  {}: {}", printable(skipped[i].path), printable(skipped[i].why)));
}

Result<LocalFiles> read_one(const fs::path& file) {
  const fs::path folder = file.parent_path();
  SLIPWAY_ASSIGN(const UniqueFd fd, snapshot::open_source(folder));
  std::vector<char> buffer(1 << 20);
  SLIPWAY_ASSIGN(const auto hashed, snapshot::hash_file(fd.get(), file.filename().string(), buffer, {}));
  SLIPWAY_ASSIGN(auto manifest, snapshot::Manifest::from_entries({{.path = file.filename().string(),
                                                                   .mode = 0644,
                                                                   .size = hashed.stat.size,
                                                                   .digest = hashed.digest}}));
  return LocalFiles{.folder = folder, .files = std::move(manifest)};
}

Result<snapshot::Manifest> below_name(const snapshot::Manifest& inside, const std::string& name) {
  std::vector<snapshot::Entry> entries = inside.entries();
  for (snapshot::Entry& entry : entries) entry.path.insert(0, name + "/");
  return snapshot::Manifest::from_entries(std::move(entries));
}

}  // namespace

Result<LocalFiles> read_local_files(Context& context, const fs::path& from, PathsBegin begin) {
  std::error_code error;
  const fs::path real = fs::canonical(from, error);
  if (error)
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no file or folder '{}'", printable(from.string())));
  if (fs::is_regular_file(real, error)) return read_one(real);
  snapshot::TakeOptions options;
  options.limits = kLimits;
  std::mutex drawing;  // progress comes from several threads
  options.on_progress = [&](const snapshot::HashProgress& at) {
    const std::lock_guard lock(drawing);
    context.console.progress(
        fmt::format("reading {} of {}", bytes_text(at.bytes_done), bytes_text(at.bytes_total)));
  };
  SLIPWAY_ASSIGN(auto taken, snapshot::take_snapshot(real, options));
  context.console.progress("");
  say_left_out(context.console, taken.skipped);
  if (taken.manifest.entries().empty())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the folder '{}' has no files", printable(from.string())));
  if (begin == PathsBegin::kInside) return LocalFiles{.folder = real, .files = std::move(taken.manifest)};
  SLIPWAY_ASSIGN(auto named, below_name(taken.manifest, real.filename().string()));
  return LocalFiles{.folder = real.parent_path(), .files = std::move(named)};
}

Result<client::UploadSummary> send_local_files(
    Context& context, Session& session, const LocalFiles& local,
    const std::function<Result<bool>(client::Requests&)>& publish) {
  std::mutex drawing;
  client::UploadOptions options;
  options.publish = publish;
  options.on_progress = [&](const client::TransferProgress& at) {
    const std::lock_guard lock(drawing);
    context.console.progress(
        fmt::format("sending {} of {}", bytes_text(at.bytes_done), bytes_text(at.bytes_total)));
  };
  auto sent = client::upload_snapshot(session.connection(), local.folder, local.files, options);
  context.console.progress("");
  if (!sent) return fail(session.explained(std::move(sent).error()));
  return *sent;
}

}  // namespace slipway::cli
