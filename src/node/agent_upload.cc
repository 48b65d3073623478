#include "node/agent_upload.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "blobs/pack.h"

namespace slipway::node {
namespace {

constexpr uint64_t kSmallFile = 256 << 10;
constexpr size_t kPackBytes = 8 << 20;
constexpr size_t kReadBytes = 1 << 20;
constexpr size_t kDigestsAtOnce = 10'000;
constexpr size_t kParallel = 4;
constexpr int kTries = 5;

// A run's token that is not taken any more will not be taken later, unlike a node's.
bool is_final(const Error& error) {
  return verdict(error) == Verdict::kRefused || error.code == ErrorCode::kUnauthenticated ||
         error.code == ErrorCode::kNotFound;
}

Error written_meanwhile(const std::string& path) {
  return {.code = ErrorCode::kInvalidArgument,
          .message = fmt::format("{} was written while it was read", path),
          .next = "",
          .detail = ""};
}

// Reads an open file piece by piece from `offset` on.
class FilePieces {
 public:
  FilePieces(int fd, uint64_t offset) : fd_(fd), offset_(offset), buffer_(kReadBytes, '\0') {}

  Result<std::string_view> next() {
    while (true) {
      const ssize_t count = ::pread(fd_, buffer_.data(), buffer_.size(), static_cast<off_t>(offset_));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail(ErrorCode::kInvalidArgument, errno_error(errno, "read it").message);
      offset_ += static_cast<uint64_t>(count);
      return std::string_view(buffer_).substr(0, static_cast<size_t>(count));
    }
  }
  uint64_t offset() const { return offset_; }

 private:
  int fd_;
  uint64_t offset_;
  std::string buffer_;
};

// The whole of a small file, if it still is what was hashed.
Result<std::string> read_small(int work_fd, const HashedFile& expected) {
  SLIPWAY_ASSIGN(const OpenedFile opened, open_output(work_fd, expected.file.path));
  std::string content;
  FilePieces pieces(opened.fd.get(), 0);
  while (content.size() <= expected.file.stamp.size) {
    SLIPWAY_ASSIGN(const std::string_view piece, pieces.next());
    if (piece.empty()) break;
    content += piece;
  }
  if (Digest::of(content) != expected.digest) return fail(written_meanwhile(expected.file.path));
  return content;
}

}  // namespace

Result<HashedFile> hash_output(int work_fd, const std::string& path) {
  SLIPWAY_ASSIGN(const OpenedFile opened, open_output(work_fd, path));
  Hasher hasher;
  FilePieces pieces(opened.fd.get(), 0);
  while (true) {
    SLIPWAY_ASSIGN(const std::string_view piece, pieces.next());
    if (piece.empty()) break;
    hasher.update(piece);
    if (pieces.offset() > opened.file.stamp.size) return fail(written_meanwhile(path));
  }
  if (pieces.offset() != opened.file.stamp.size) return fail(written_meanwhile(path));
  return HashedFile{.file = opened.file, .digest = hasher.finish()};
}

Result<Unsent> OutputUploader::upload(const std::vector<HashedFile>& files) {
  Unsent unsent;
  ServerLink::Lease client = server_.borrow_as(token_);
  for (size_t at = 0; at < files.size(); at += kDigestsAtOnce) {
    std::vector<const HashedFile*> asked;
    for (size_t i = at; i < std::min(files.size(), at + kDigestsAtOnce); ++i) asked.push_back(&files[i]);
    auto missing = ask_missing(asked, *client);
    if (!missing && !is_final(missing.error())) return fail(std::move(missing).error());
    if (!missing) {
      for (const HashedFile* file : asked) unsent.emplace(file->file.path, missing.error());
      continue;
    }
    std::vector<Missing> small;
    std::vector<Missing> large;
    for (const Missing& one : *missing)
      (one.file->file.stamp.size <= kSmallFile && one.offset == 0 ? small : large).push_back(one);
    SLIPWAY_TRY(send_packs(small, *client, unsent));
    SLIPWAY_TRY(send_large(large, unsent));
  }
  return unsent;
}

Result<std::vector<OutputUploader::Missing>> OutputUploader::ask_missing(
    const std::vector<const HashedFile*>& files, http::Client& client) {
  std::unordered_map<Digest, const HashedFile*> by_digest;
  json::array digests;
  for (const HashedFile* file : files) {
    if (by_digest.emplace(file->digest, file).second) digests.emplace_back(file->digest.hex());
  }
  const json::value body = json::object{{"digests", std::move(digests)}};
  SLIPWAY_ASSIGN(const json::value answer,
                 client.json_call(http::Method::kPost,
                                  ServerLink::workspace_target(workspace_, "blobs/missing"), &body));
  if (!answer.is_object())
    return fail(ErrorCode::kInternal, "the server's answer about missing files is no object");
  json::array items;
  JsonFields fields(answer.get_object(), "the server's answer about missing files");
  fields.required("missing", items);
  SLIPWAY_TRY(fields.finish_lenient());
  std::vector<Missing> missing;
  for (const json::value& item : items) {
    if (!item.is_object()) continue;
    std::string hex;
    Missing one;
    JsonFields item_fields(item.get_object(), "a missing file");
    item_fields.required("digest", hex);
    item_fields.optional("offset", one.offset);
    SLIPWAY_TRY(item_fields.finish_lenient());
    SLIPWAY_ASSIGN(const Digest digest, Digest::parse(hex));
    const auto found = by_digest.find(digest);
    if (found == by_digest.end()) continue;
    one.file = found->second;
    missing.push_back(one);
  }
  return missing;
}

Status OutputUploader::send_packs(const std::vector<Missing>& small, http::Client& client, Unsent& unsent) {
  for (size_t at = 0; at < small.size();) {
    http::Call call;
    call.method = http::Method::kPost;
    call.target = ServerLink::workspace_target(workspace_, "blobs/pack");
    call.content_type = "application/octet-stream";
    std::vector<const HashedFile*> packed;
    for (; at < small.size() && call.body.size() < kPackBytes; ++at) {
      const HashedFile& file = *small[at].file;
      auto content = read_small(work_fd_, file);
      if (!content) {
        unsent.emplace(file.file.path, std::move(content).error());
        continue;
      }
      call.body += blobs::pack_header(file.digest, content->size());
      call.body += *content;
      packed.push_back(&file);
    }
    if (packed.empty()) continue;
    const auto answer = client.call(std::move(call));
    if (!answer && !is_final(answer.error())) return fail(answer.error());
    if (!answer) {
      for (const HashedFile* file : packed) unsent.emplace(file->file.path, answer.error());
    }
  }
  return {};
}

Status OutputUploader::send_large(const std::vector<Missing>& large, Unsent& unsent) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;  // guards unsent and broken
  std::optional<Error> broken;
  const auto work = [&] {
    ServerLink::Lease client = server_.borrow_as(token_);
    for (size_t i = next++; i < large.size(); i = next++) {
      const Status sent = send_one(large[i], *client);
      if (sent) continue;
      const std::lock_guard lock(mutex);
      if (is_final(sent.error())) {
        unsent.emplace(large[i].file->file.path, sent.error());
      } else {
        broken = sent.error();
        next = large.size();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (size_t i = 1; i < std::min(kParallel, large.size()); ++i) helpers.emplace_back(work);
    if (!large.empty()) work();
  }
  if (broken) return fail(*broken);
  return {};
}

// The server may hold another part than it said: an upload of the same file, of this node or of another, was
// in progress or has ended meanwhile.
Status OutputUploader::send_one(Missing missing, http::Client& client) {
  for (int tries = 1;; ++tries) {
    const Status sent = put(missing, client);
    if (sent || sent.error().code != ErrorCode::kConflict || tries == kTries) {
      if (!sent && sent.error().code == ErrorCode::kConflict)
        return fail(ErrorCode::kTimeout, sent.error().message);
      return sent;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50 << tries));
    SLIPWAY_ASSIGN(const std::vector<Missing> still, ask_missing({missing.file}, client));
    if (still.empty()) return {};
    missing = still.front();
  }
}

Status OutputUploader::put(const Missing& missing, http::Client& client) {
  const HashedFile& file = *missing.file;
  SLIPWAY_ASSIGN(const OpenedFile opened, open_output(work_fd_, file.file.path));
  const uint64_t size = file.file.stamp.size;
  if (opened.file.stamp != file.file.stamp || missing.offset > size)
    return fail(written_meanwhile(file.file.path));
  FilePieces pieces(opened.fd.get(), missing.offset);
  bool cut_short = false;
  http::Call call;
  call.method = http::Method::kPut;
  call.target = ServerLink::workspace_target(
      workspace_, fmt::format("blobs/{}?offset={}", file.digest.hex(), missing.offset));
  call.content_type = "application/octet-stream";
  call.source_length = size - missing.offset;
  call.source = [&, left = size - missing.offset]() mutable -> Result<std::string_view> {
    if (left == 0) return std::string_view();
    SLIPWAY_ASSIGN(std::string_view piece, pieces.next());
    if (piece.empty()) {
      cut_short = true;
      return fail(written_meanwhile(file.file.path));
    }
    piece = piece.substr(0, left);
    left -= piece.size();
    return piece;
  };
  const auto answer = client.call(std::move(call));
  if (cut_short) return fail(written_meanwhile(file.file.path));
  if (!answer) return fail(answer.error());
  return {};
}

}  // namespace slipway::node
