#include "serving/runtimes/zip_directory.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <optional>

namespace slipway::serving {
namespace {

static_assert(std::endian::native == std::endian::little);  // as the numbers of an archive are

constexpr size_t kEndSize = 22;
constexpr size_t kLongestComment = 65535;
constexpr size_t kLocatorSize = 20;
constexpr size_t kEnd64Size = 56;
constexpr size_t kEntrySize = 46;
constexpr size_t kHeaderSize = 30;
constexpr uint32_t kInExtra = 0xffffffff;  // the number is in the extra field
constexpr uint16_t kZip64 = 1;

// 0 beyond the end; who reads has looked at the size before.
template <std::unsigned_integral T>
T number_at(std::string_view bytes, size_t position) {
  T value = 0;
  if (position <= bytes.size() && bytes.size() - position >= sizeof value)
    std::memcpy(&value, bytes.data() + position, sizeof value);
  return value;
}

std::string_view part(std::string_view bytes, uint64_t from, uint64_t size) {
  if (from > bytes.size() || size > bytes.size() - from) return {};
  return bytes.substr(from, size);
}

// Where the directory is; empty: nowhere.
std::string_view find_directory(std::string_view archive) {
  if (archive.size() < kEndSize) return {};
  const size_t first = archive.size() - std::min(archive.size(), kEndSize + kLongestComment);
  const size_t end = archive.rfind("PK\x05\x06", archive.size() - kEndSize);
  if (end == std::string_view::npos || end < first) return {};
  uint64_t size = number_at<uint32_t>(archive, end + 12);
  uint64_t offset = number_at<uint32_t>(archive, end + 16);
  if (end >= kLocatorSize && part(archive, end - kLocatorSize, 4) == "PK\x06\x07") {
    const uint64_t end64 = number_at<uint64_t>(archive, end - kLocatorSize + 8);
    const std::string_view record = part(archive, end64, kEnd64Size);
    if (record.starts_with("PK\x06\x06")) {
      size = number_at<uint64_t>(record, 40);
      offset = number_at<uint64_t>(record, 48);
    }
  }
  return part(archive, offset, size);
}

// The numbers that did not fit into an entry, in the order they come in its extra field.
void read_long_numbers(std::string_view extra, ZipEntry& entry, bool long_whole, bool long_size,
                       bool long_offset) {
  while (extra.size() >= 4) {
    const auto kind = number_at<uint16_t>(extra, 0);
    const std::string_view field = part(extra, 4, number_at<uint16_t>(extra, 2));
    if (kind == kZip64) {
      size_t position = long_whole ? 8 : 0;
      if (long_size) entry.size = number_at<uint64_t>(field, position);
      if (long_size) position += 8;
      if (long_offset) entry.offset = number_at<uint64_t>(field, position);
      return;
    }
    extra.remove_prefix(std::min(extra.size(), 4 + size_t{number_at<uint16_t>(extra, 2)}));
  }
}

}  // namespace

Status visit_zip(std::string_view archive, const std::function<bool(const ZipEntry&)>& visit) {
  std::string_view rest = find_directory(archive);
  if (rest.empty()) return fail(ErrorCode::kInvalidArgument, "this is no archive, or not all of one");
  while (rest.size() >= kEntrySize && rest.starts_with("PK\x01\x02")) {
    const size_t name_size = number_at<uint16_t>(rest, 28);
    const size_t extra_size = number_at<uint16_t>(rest, 30);
    const size_t whole = kEntrySize + name_size + extra_size + number_at<uint16_t>(rest, 32);
    if (whole > rest.size()) break;
    const auto size = number_at<uint32_t>(rest, 20);
    const auto unpacked = number_at<uint32_t>(rest, 24);
    const auto offset = number_at<uint32_t>(rest, 42);
    ZipEntry entry{.name = rest.substr(kEntrySize, name_size),
                   .offset = offset,
                   .size = size,
                   .stored = number_at<uint16_t>(rest, 10) == 0};
    read_long_numbers(rest.substr(kEntrySize + name_size, extra_size), entry, unpacked == kInExtra,
                      size == kInExtra, offset == kInExtra);
    if (!visit(entry)) return {};
    rest.remove_prefix(whole);
  }
  if (rest.empty()) return {};
  return fail(ErrorCode::kInvalidArgument, "the directory of this archive is damaged");
}

std::string_view stored_content(std::string_view archive, const ZipEntry& entry) {
  const std::string_view header = part(archive, entry.offset, kHeaderSize);
  if (!entry.stored || !header.starts_with("PK\x03\x04")) return {};
  const uint64_t names = number_at<uint16_t>(header, 26) + uint64_t{number_at<uint16_t>(header, 28)};
  return part(archive, entry.offset + kHeaderSize + names, entry.size);
}

}  // namespace slipway::serving
