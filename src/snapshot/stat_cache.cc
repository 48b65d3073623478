#include "snapshot/stat_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/file.h"
#include "base/log.h"

namespace slipway::snapshot {
namespace {

namespace fs = std::filesystem;

// Layout, numbers as this machine has them (the file never leaves it):
//   magic | u64 count | count times: FixedPart, path | SHA-256 of all before it
constexpr std::string_view kMagic = "SLWSTAT1";
constexpr size_t kDigestSize = 32;
constexpr size_t kMaxCacheBytes = 256 << 20;
constexpr size_t kMaxCaches = 200;

struct FixedPart {
  FileStat stat;
  std::array<unsigned char, kDigestSize> digest;
  uint64_t path_size;
};
static_assert(std::is_trivially_copyable_v<FixedPart> && sizeof(FixedPart) == 72);

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes a value off the front; false when too little is left.
template <class T>
bool take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  bytes.copy(reinterpret_cast<char*>(&value), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

std::optional<std::vector<CachedFile>> parse_files(std::string_view bytes) {
  if (bytes.size() < kMagic.size() + kDigestSize || !bytes.starts_with(kMagic)) return std::nullopt;
  const std::string_view checksum = bytes.substr(bytes.size() - kDigestSize);
  bytes.remove_suffix(kDigestSize);
  if (std::memcmp(Digest::of(bytes).bytes().data(), checksum.data(), kDigestSize) != 0) return std::nullopt;
  bytes.remove_prefix(kMagic.size());
  uint64_t count = 0;
  if (!take(bytes, count) || count > bytes.size() / sizeof(FixedPart)) return std::nullopt;
  std::vector<CachedFile> files;
  files.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    FixedPart fixed;
    if (!take(bytes, fixed) || fixed.path_size > bytes.size()) return std::nullopt;
    const std::string_view path = bytes.substr(0, fixed.path_size);
    bytes.remove_prefix(fixed.path_size);
    if (!files.empty() && files.back().path >= path) return std::nullopt;
    files.push_back({.path = path, .stat = fixed.stat, .digest = Digest(fixed.digest)});
  }
  if (!bytes.empty()) return std::nullopt;
  return files;
}

void drop_oldest(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> caches;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto written = fs::last_write_time(entry.path(), error);
    if (!error) caches.emplace_back(written, entry.path());
  }
  if (caches.size() <= kMaxCaches) return;
  std::ranges::sort(caches);
  for (size_t i = 0; i + kMaxCaches < caches.size(); ++i) fs::remove(caches[i].second, error);
}

}  // namespace

StatCache StatCache::load(const fs::path& file) {
  if (file.empty()) return {};
  auto bytes = read_file(file, kMaxCacheBytes);
  return bytes ? parse(std::move(*bytes)) : StatCache();
}

StatCache StatCache::parse(std::string bytes) {
  StatCache cache;
  cache.bytes_ = std::make_unique<const std::string>(std::move(bytes));
  if (auto files = parse_files(*cache.bytes_)) cache.files_ = std::move(*files);
  return cache;
}

std::optional<Digest> StatCache::find(std::string_view path, const FileStat& stat) const {
  const auto found = std::ranges::lower_bound(files_, path, {}, &CachedFile::path);
  if (found == files_.end() || found->path != path || found->stat != stat) return std::nullopt;
  return found->digest;
}

std::string StatCache::encode(const std::vector<CachedFile>& files) {
  std::string bytes(kMagic);
  append(bytes, uint64_t{files.size()});
  for (const CachedFile& file : files) {
    append(bytes, FixedPart{.stat = file.stat, .digest = file.digest.bytes(), .path_size = file.path.size()});
    bytes += file.path;
  }
  append(bytes, Digest::of(bytes).bytes());
  return bytes;
}

fs::path stat_cache_path(const fs::path& source) {
  const char* cache_home = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path base;
  if (cache_home != nullptr && *cache_home == '/') {
    base = cache_home;
  } else if (home != nullptr && *home == '/') {
    base = fs::path(home) / ".cache";
  } else {
    return {};
  }
  std::error_code error;
  const fs::path real = fs::canonical(source, error);
  if (error) return {};
  return base / "slipway" / "snapshots" / Digest::of(real.string()).hex();
}

void store_stat_cache(const fs::path& file, const std::vector<CachedFile>& files) {
  if (file.empty()) return;
  Status stored = make_folders(file.parent_path());
  if (stored) stored = replace_file(file, StatCache::encode(files));
  if (!stored)
    return log_debug("snapshot.cache_not_written", {{"file", file.string()}, {"error", stored.error()}});
  drop_oldest(file.parent_path());
}

}  // namespace slipway::snapshot
