#include "client/upload.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/file.h"
#include "snapshot/parallel.h"

namespace slipway::client {
namespace {

using snapshot::Entry;

constexpr size_t kDigestsAtOnce = 20'000;
constexpr size_t kPieceBytes = 1 << 20;
constexpr int kRounds = 3;

static_assert(std::endian::native == std::endian::little, "frames are little-endian");

struct Missing {
  const Entry* entry = nullptr;
  uint64_t offset = 0;  // held by the server from an interrupted upload
};

// What one worker sends in one go: a large file or a pack of small ones.
using Load = std::vector<Missing>;

std::unexpected<Error> changed(const Entry& entry) {
  return fail(ErrorCode::kConflict, fmt::format("the file {} changed while it was uploaded", entry.path),
              "submit again when nothing writes to it, or name it in .slipwayignore");
}

class Uploader {
 public:
  Uploader(const Connection& connection, int folder_fd, const snapshot::Manifest& manifest,
           const UploadOptions& options)
      : connection_(connection),
        folder_fd_(folder_fd),
        manifest_(manifest),
        options_(options),
        requests_(connection, options.retry) {}

  Result<UploadSummary> run() {
    bool known = false;
    if (options_.probably_known) {
      SLIPWAY_ASSIGN(known, register_manifest());
    }
    // The server may drop a blob nobody refers to between our question and the manifest: rare, and asked
    // again.
    for (int round = 0; !known; ++round) {
      if (round == kRounds)
        return fail(ErrorCode::kUnavailable, "the server does not keep what was uploaded",
                    "look at the server's log");
      SLIPWAY_ASSIGN(const std::vector<Missing> missing, ask_missing(requests_, unique_entries()));
      SLIPWAY_TRY(send_all(missing));
      SLIPWAY_ASSIGN(known, register_manifest());
    }
    return summary_;
  }

 private:
  // False: the server lacks some of the files.
  Result<bool> register_manifest() {
    if (options_.publish) return options_.publish(requests_);
    http::Call call;
    call.method = http::Method::kPost;
    call.target = connection_.in_workspace("/snapshots");
    call.body = manifest_.text();
    const auto answer = requests_.send(call);
    if (answer) return true;
    if (answer.error().code == ErrorCode::kConflict) return false;
    return fail(answer.error());
  }

  std::vector<const Entry*> unique_entries() const {
    std::vector<const Entry*> entries;
    std::unordered_set<Digest> seen;
    for (const Entry& entry : manifest_.entries())
      if (seen.insert(entry.digest).second) entries.push_back(&entry);
    return entries;
  }

  using ByDigest = std::unordered_map<std::string, const Entry*>;

  // Reads the server's answer; digests that were not asked for are passed over.
  static Status add_missing(const json::object& answer, const ByDigest& by_digest,
                            std::vector<Missing>& missing) {
    json::array list;
    JsonFields fields(answer, "the list of missing files");
    fields.required("missing", list);
    SLIPWAY_TRY(fields.finish_lenient());
    for (const json::value& item : list) {
      if (!item.is_object()) continue;
      std::string digest;
      uint64_t offset = 0;
      JsonFields item_fields(item.get_object(), "a missing file");
      item_fields.required("digest", digest);
      item_fields.optional("offset", offset);
      SLIPWAY_TRY(item_fields.finish_lenient());
      if (const auto found = by_digest.find(digest); found != by_digest.end())
        missing.push_back({.entry = found->second, .offset = std::min(offset, found->second->size)});
    }
    return {};
  }

  Result<std::vector<Missing>> ask_missing(Requests& requests,
                                           const std::vector<const Entry*>& entries) const {
    std::vector<Missing> missing;
    for (size_t start = 0; start < entries.size(); start += kDigestsAtOnce) {
      const size_t end = std::min(start + kDigestsAtOnce, entries.size());
      ByDigest by_digest;
      json::array digests;
      for (size_t i = start; i < end; ++i) {
        std::string hex = entries[i]->digest.hex();
        digests.emplace_back(hex);
        by_digest.emplace(std::move(hex), entries[i]);
      }
      const json::object body{{"digests", std::move(digests)}};
      SLIPWAY_ASSIGN(const json::object answer,
                     requests.call(http::Method::kPost, connection_.in_workspace("/blobs/missing"), &body));
      SLIPWAY_TRY(add_missing(answer, by_digest, missing));
    }
    return missing;
  }

  // Large files first, so that no connection is left alone with one at the end; then packs.
  static std::vector<Load> make_loads(std::vector<Missing> missing) {
    std::ranges::sort(missing, std::greater(), [](const Missing& m) { return m.entry->size; });
    std::vector<Load> loads;
    uint64_t pack = 0;
    for (const Missing& one : missing) {
      const uint64_t size = one.entry->size;
      if (loads.empty() || size >= kSmallFile || pack + size > kPackBytes) {
        loads.emplace_back();
        pack = size >= kSmallFile ? kPackBytes : 0;
      }
      loads.back().push_back(one);
      pack += size;
    }
    return loads;
  }

  Status send_all(const std::vector<Missing>& missing) {
    uint64_t bytes = 0;
    for (const Missing& one : missing) bytes += one.entry->size - one.offset;
    meter_.emplace(options_.on_progress, bytes, missing.size());
    const std::vector<Load> loads = make_loads(missing);
    const size_t workers = std::min<size_t>(std::max(1U, options_.connections), loads.size());
    // The end of an upload waits for the server's disk.
    Connection patient = connection_;
    patient.http.answer_time =
        std::max<std::chrono::milliseconds>(patient.http.answer_time, std::chrono::minutes(5));
    std::vector<std::unique_ptr<Requests>> connections(workers);
    SLIPWAY_TRY(snapshot::parallel_for(loads.size(), workers, [&](size_t worker, size_t index) -> Status {
      if (!connections[worker]) connections[worker] = std::make_unique<Requests>(patient, options_.retry);
      const Load& load = loads[index];
      if (load.size() == 1 && load.front().entry->size >= kSmallFile)
        return send_large(*connections[worker], load.front());
      return send_pack(*connections[worker], load);
    }));
    meter_->finish();
    summary_.sent_bytes += bytes;
    summary_.sent_files += missing.size();
    return {};
  }

  Result<UniqueFd> open(const Entry& entry) const {
    auto file = open_beneath(folder_fd_, entry.path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    if (!file) return changed(entry);
    return file;
  }

  static Status read_exactly(int fd, uint64_t offset, char* target, size_t size, const Entry& entry) {
    while (size > 0) {
      const ssize_t count = ::pread(fd, target, size, static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return changed(entry);
      target += count;
      offset += static_cast<uint64_t>(count);
      size -= static_cast<size_t>(count);
    }
    return {};
  }

  Status send_pack(Requests& requests, const Load& load) {
    http::Call call;
    call.method = http::Method::kPost;
    call.target = connection_.in_workspace("/blobs/pack");
    call.content_type = "application/octet-stream";
    uint64_t bytes = 0;
    for (const Missing& one : load) {
      const Entry& entry = *one.entry;
      const uint64_t size = entry.size;
      call.body.append(reinterpret_cast<const char*>(entry.digest.bytes().data()),
                       entry.digest.bytes().size());
      call.body.append(reinterpret_cast<const char*>(&size), sizeof size);
      const size_t start = call.body.size();
      call.body.resize(start + size);
      SLIPWAY_ASSIGN(const UniqueFd file, open(entry));
      SLIPWAY_TRY(read_exactly(file.get(), 0, call.body.data() + start, size, entry));
      if (Digest::of({call.body.data() + start, size}) != entry.digest) return changed(entry);
      bytes += size - one.offset;
    }
    SLIPWAY_TRY(requests.send(call));
    meter_->add_bytes(bytes);
    meter_->add_files(load.size());
    return {};
  }

  Status send_large(Requests& requests, Missing one) {
    SLIPWAY_ASSIGN(const UniqueFd file, open(*one.entry));
    int failures = 0;
    while (true) {
      const auto sent = put_from(requests, file.get(), one);
      if (sent && !*sent) return changed(*one.entry);
      if (sent) break;
      Error error = sent.error();
      // Another upload of the same file runs, or the server holds more or less than we think: look again.
      if (error.code == ErrorCode::kConflict) error.code = ErrorCode::kUnavailable;
      if (!requests.wait_to_repeat(error, failures)) return fail(sent.error());
      SLIPWAY_ASSIGN(const std::vector<Missing> still, ask_missing(requests, {one.entry}));
      if (still.empty()) break;
      if (still.front().offset > one.offset) failures = 1;  // it moves
      one.offset = still.front().offset;
    }
    meter_->add_files(1);
    return {};
  }

  // One try, from the offset on. False: the file is no longer what the manifest says.
  Result<bool> put_from(Requests& requests, int file, const Missing& one) {
    const Entry& entry = *one.entry;
    std::vector<char> buffer(std::min<uint64_t>(kPieceBytes, entry.size));
    uint64_t position = one.offset;
    bool is_same = true;
    http::Call call;
    call.method = http::Method::kPut;
    call.target =
        connection_.in_workspace(fmt::format("/blobs/{}?offset={}", entry.digest.hex(), one.offset));
    call.content_type = "application/octet-stream";
    call.source_length = entry.size - one.offset;
    call.source = [&]() -> Result<std::string_view> {
      const size_t size = std::min<uint64_t>(buffer.size(), entry.size - position);
      const Status read = read_exactly(file, position, buffer.data(), size, entry);
      is_same = is_same && read;
      SLIPWAY_TRY(read);
      position += size;
      meter_->add_bytes(size);
      return std::string_view(buffer.data(), size);
    };
    const auto answer = requests.stream(std::move(call));
    if (answer) return true;
    meter_->take_back(position - one.offset);
    // A wrong digest at the end: the server has dropped the bytes.
    if (!is_same || answer.error().code == ErrorCode::kInvalidArgument) return false;
    return fail(answer.error());
  }

  const Connection& connection_;
  const int folder_fd_;
  const snapshot::Manifest& manifest_;
  const UploadOptions& options_;
  Requests requests_;
  std::optional<ProgressMeter> meter_;
  UploadSummary summary_;
};

}  // namespace

Result<UploadSummary> upload_snapshot(const Connection& connection, const std::filesystem::path& folder,
                                      const snapshot::Manifest& manifest, const UploadOptions& options) {
  SLIPWAY_ASSIGN(const UniqueFd source, snapshot::open_source(folder));
  return Uploader(connection, source.get(), manifest, options).run();
}

}  // namespace slipway::client
