#include "journal/segments.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

namespace slipway::journal {
namespace {

constexpr size_t kNameDigits = 20;

std::optional<uint64_t> start_from_name(std::string_view name) {
  uint64_t start = 0;
  if (name.size() != kNameDigits) return std::nullopt;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), start);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return start;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

std::filesystem::path segment_path(const std::filesystem::path& folder, uint64_t start) {
  return folder / fmt::format("{:020}", start);
}

Result<std::vector<Segment>> list_segments(const std::filesystem::path& folder) {
  std::vector<Segment> segments;
  const std::unique_ptr<DIR, CloseFolder> handle(::opendir(folder.c_str()));
  if (!handle) {
    if (errno == ENOENT) return segments;
    return fail(errno_error(errno, fmt::format("read the folder {}", folder.string())));
  }
  while (const dirent* entry = ::readdir(handle.get())) {
    const auto start = start_from_name(entry->d_name);
    struct stat info{};
    if (!start || ::fstatat(::dirfd(handle.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(info.st_mode)) segments.push_back({*start, static_cast<uint64_t>(info.st_size)});
  }
  std::ranges::sort(segments, {}, &Segment::start);
  return segments;
}

Status remove_segments_before(const std::filesystem::path& folder, uint64_t position) {
  SLIPWAY_ASSIGN(std::vector<Segment> segments, list_segments(folder));
  while (!segments.empty() && segments.back().size == 0) segments.pop_back();
  for (size_t i = 0; i + 1 < segments.size(); ++i) {
    // A segment ends where the next one begins, whatever a torn tail left behind it.
    if (segments[i + 1].start > position) break;
    const auto path = segment_path(folder, segments[i].start);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return fail(errno_error(errno, fmt::format("remove {}", path.string())));
  }
  return {};
}

Result<uint64_t> backlog(const std::filesystem::path& folder, uint64_t position) {
  SLIPWAY_ASSIGN(const std::vector<Segment> segments, list_segments(folder));
  if (segments.empty() || segments.back().end() <= position) return 0;
  return segments.back().end() - std::max(position, segments.front().start);
}

}  // namespace slipway::journal
