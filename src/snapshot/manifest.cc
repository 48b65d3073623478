#include "snapshot/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "base/file.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "snapshot/manifest_parser.h"

namespace slipway::snapshot {
namespace {

// A path as it may stand in a message: shortened, control characters hidden.
std::string shown(std::string_view path) {
  std::string text(path.substr(0, 200));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return text;
}

std::unexpected<Error> bad(std::string_view path, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("the manifest's file '{}' {}", shown(path), why));
}

Status check_entry(const Entry& entry) {
  if (!is_clean_relative_path(entry.path)) return bad(entry.path, "does not have a clean relative path");
  if (!is_utf8(entry.path)) return bad(entry.path, "has a path that is not UTF-8");
  if (entry.mode != 0644 && entry.mode != 0755) return bad(entry.path, "has a mode other than 0644 and 0755");
  if (entry.size > kMaxTotalBytes) return bad(entry.path, "is larger than a snapshot may be");
  return {};
}

// `entries` are sorted. "a" and "a/b" need not be neighbours ("a-c" comes between), hence the set.
Status check_no_file_is_a_folder(const std::vector<Entry>& entries) {
  std::unordered_set<std::string_view> files;
  files.reserve(entries.size());
  for (const Entry& entry : entries) files.insert(entry.path);
  std::string_view last_folder;
  for (const Entry& entry : entries) {
    const std::string_view path = entry.path;
    const size_t end = path.rfind('/');
    if (end == std::string_view::npos || path.substr(0, end) == last_folder) continue;
    last_folder = path.substr(0, end);
    for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1))
      if (files.contains(path.substr(0, slash)))
        return bad(path.substr(0, slash), "is a file and a folder at once");
  }
  return {};
}

Status check_sizes(const std::vector<Entry>& entries) {
  std::unordered_map<Digest, uint64_t> size_of;
  size_of.reserve(entries.size());
  uint64_t total = 0;
  for (const Entry& entry : entries) {
    const auto [known, is_new] = size_of.emplace(entry.digest, entry.size);
    if (!is_new && known->second != entry.size)
      return bad(entry.path, "has a digest that stands there with another size");
    total += entry.size;  // each is at most 2^44, so 2^18.2 of them do not overflow
    if (total > kMaxTotalBytes)
      return fail(ErrorCode::kTooLarge, fmt::format("the snapshot is larger than {} bytes", kMaxTotalBytes));
  }
  return {};
}

}  // namespace

Manifest::Manifest() : Manifest(std::vector<Entry>()) {}

Manifest::Manifest(std::vector<Entry> entries) : entries_(std::move(entries)) {
  for (const Entry& entry : entries_) total_bytes_ += entry.size;
  id_ = Digest::of(text());
}

Result<Manifest> Manifest::from_entries(std::vector<Entry> entries) {
  if (entries.size() > kMaxEntries)
    return fail(ErrorCode::kTooLarge,
                fmt::format("the snapshot has {} files; at most {} are taken", entries.size(), kMaxEntries),
                "name what is not needed in .slipwayignore");
  for (const Entry& entry : entries) SLIPWAY_TRY(check_entry(entry));
  const auto by_path = [](const Entry& a, const Entry& b) { return a.path < b.path; };
  if (!std::ranges::is_sorted(entries, by_path)) std::ranges::sort(entries, by_path);
  const auto twice = std::ranges::adjacent_find(entries, {}, &Entry::path);
  if (twice != entries.end()) return bad(twice->path, "stands there twice");
  SLIPWAY_TRY(check_no_file_is_a_folder(entries));
  SLIPWAY_TRY(check_sizes(entries));
  return Manifest(std::move(entries));
}

Result<Manifest> Manifest::parse(std::string_view text) {
  if (text.size() > kMaxManifestText)
    return fail(ErrorCode::kTooLarge, fmt::format("the manifest is longer than {} bytes", kMaxManifestText));
  SLIPWAY_ASSIGN(std::vector<Entry> entries, parse_manifest_entries(text));
  return from_entries(std::move(entries));
}

const Entry* Manifest::find(std::string_view path) const {
  const auto found =
      std::ranges::lower_bound(entries_, path, {}, [](const Entry& e) { return std::string_view(e.path); });
  return found != entries_.end() && found->path == path ? &*found : nullptr;
}

std::string Manifest::text() const {
  std::string text = R"({"version":1,"files":[)";
  text.reserve(entries_.size() * 160 + 64);
  for (const Entry& entry : entries_) {
    text += &entry == entries_.data() ? R"({"path":)" : R"(,{"path":)";
    append_json_string(text, entry.path);
    fmt::format_to(std::back_inserter(text), R"(,"mode":{},"size":{},"digest":"{}"}})", entry.mode,
                   entry.size, entry.digest.hex());
  }
  text += "]}";
  return text;
}

std::string_view to_text(Change change) {
  switch (change) {
    case Change::kAdded: return "added";
    case Change::kRemoved: return "removed";
    case Change::kModified: return "modified";
  }
  return "modified";
}

std::vector<FileChange> diff(const Manifest& from, const Manifest& to) {
  std::vector<FileChange> changes;
  auto old_entry = from.entries().begin();
  auto new_entry = to.entries().begin();
  while (old_entry != from.entries().end() || new_entry != to.entries().end()) {
    if (new_entry == to.entries().end() ||
        (old_entry != from.entries().end() && old_entry->path < new_entry->path)) {
      changes.push_back({old_entry++->path, Change::kRemoved});
    } else if (old_entry == from.entries().end() || new_entry->path < old_entry->path) {
      changes.push_back({new_entry++->path, Change::kAdded});
    } else {
      if (*old_entry != *new_entry) changes.push_back({new_entry->path, Change::kModified});
      ++old_entry;
      ++new_entry;
    }
  }
  return changes;
}

}  // namespace slipway::snapshot
