#include "serving/conversion/converted_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace slipway::serving {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxEntries = 16;
// One that was used this recently may be about to be loaded.
constexpr std::chrono::hours kInUse{1};
constexpr std::chrono::milliseconds kLook{100};

Status hash_file(const fs::path& path, Hasher& hasher) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail(errno_error(errno, fmt::format("open {}", path.string())));
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno_error(errno, fmt::format("read {}", path.string())));
    if (count == 0) return {};
    hasher.update({buffer.data(), static_cast<size_t>(count)});
  }
}

struct Entry {
  fs::path path;
  fs::file_time_type used;
};

std::vector<Entry> entries_below(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code gone;
  for (const auto& item : fs::directory_iterator(folder, gone)) {
    const auto used = item.last_write_time(gone);
    if (!gone) entries.push_back({item.path(), used});
  }
  return entries;
}

}  // namespace

Result<Digest> digest_of_files(const fs::path& path) {
  Hasher whole;
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_directory(path, error)) {
    for (fs::recursive_directory_iterator item(path, error), end; !error && item != end;
         item.increment(error))
      if (std::error_code gone; item->is_regular_file(gone)) files.push_back(item->path());
  } else {
    files.push_back(path);
  }
  if (error)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot read {}: {}", path.string(), error.message()));
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    Hasher content;
    SLIPWAY_TRY(hash_file(file, content));
    whole.update(fmt::format("{} {}\n", content.finish().hex(), file.lexically_relative(path).string()));
  }
  return whole.finish();
}

Result<AsideFolder> AsideFolder::make(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);  // of one that was killed
  AsideFolder made(folder);
  SLIPWAY_TRY(make_folders(made.result()));
  SLIPWAY_TRY(make_folders(made.scratch()));
  return made;
}

AsideFolder::~AsideFolder() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<ConvertedFolder::Turn> ConvertedFolder::wait_for(const std::string& key,
                                                        std::chrono::milliseconds patience) {
  const Monotonic deadline = std::chrono::steady_clock::now() + patience;
  for (Turn turn;;) {
    std::error_code error;
    if (fs::exists(entry(key), error)) {
      fs::last_write_time(entry(key), fs::file_time_type::clock::now(), error);
      turn.result = entry(key);
      turn.lock.reset();
      return turn;
    }
    if (turn.lock) {  // looked for once more, since it may have come while the lock was waited for
      remove_old();
      SLIPWAY_ASSIGN(AsideFolder aside, AsideFolder::make(folder_ / "aside" / key));
      turn.aside.emplace(std::move(aside));
      return turn;
    }
    SLIPWAY_TRY(make_folders(folder_ / "locks"));
    SLIPWAY_ASSIGN(turn.lock, FileLock::try_take(lock_of(key)));
    if (turn.lock) continue;
    std::this_thread::sleep_for(kLook);
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::kTimeout, "another process converts this model and does not get done",
                  fmt::format("{} says which one", lock_of(key).string()));
  }
}

Result<fs::path> ConvertedFolder::keep(const std::string& key, const AsideFolder& aside) {
  const UniqueFd result(::open(aside.result().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!result || ::syncfs(result.get()) != 0)
    return fail(errno_error(errno, fmt::format("sync {}", aside.result().string())));
  SLIPWAY_TRY(make_folders(folder_ / "entries"));
  if (::rename(aside.result().c_str(), entry(key).c_str()) != 0)
    return fail(errno_error(errno, fmt::format("rename {}", aside.result().string())));
  SLIPWAY_TRY(sync_folder(folder_ / "entries"));
  return entry(key);
}

void ConvertedFolder::remove_old() const {
  std::error_code ignored;
  const auto now = fs::file_time_type::clock::now();
  std::vector<Entry> entries = entries_below(folder_ / "entries");
  std::ranges::sort(entries, std::greater(), &Entry::used);
  for (size_t i = kMaxEntries; i < entries.size(); ++i)
    if (now - entries[i].used > kInUse) fs::remove_all(entries[i].path, ignored);
  // What was being made by processes that were killed.
  for (const Entry& left : entries_below(folder_ / "aside"))
    if (const auto lock = FileLock::try_take(lock_of(left.path.filename().string())); lock && *lock)
      fs::remove_all(left.path, ignored);
}

}  // namespace slipway::serving
