#include "client/download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/file.h"
#include "client/following_hasher.h"
#include "http/router.h"
#include "snapshot/hash_file.h"
#include "snapshot/parallel.h"

namespace slipway::client {
namespace {

// Below this, a thread to hash beside the transfer costs more than it saves.
constexpr uint64_t kLargeFile = 4 << 20;

std::unexpected<Error> failed(int error, std::string_view doing, std::string_view path) {
  return fail(errno_error(error, fmt::format("{} {}", doing, path)));
}

// One file on its way into its folder: ".<name>.<digest>.part" until it is whole.
class IncomingFile {
 public:
  static Result<IncomingFile> open(int root_fd, const RemoteFile& remote) {
    IncomingFile file(remote);
    const size_t slash = remote.path.rfind('/');
    const bool nested = slash != std::string::npos;
    SLIPWAY_ASSIGN(file.folder_, make_folders_beneath(
                                     root_fd, nested ? std::string_view(remote.path).substr(0, slash) : ""));
    file.name_ = nested ? remote.path.substr(slash + 1) : remote.path;
    // The digest in the name: what is left of another version is never continued.
    file.part_name_ =
        fmt::format(".{}.{}.part", file.name_.substr(0, 200), remote.digest.hex().substr(0, 16));
    return file;
  }

  // Whether the file is there already, whole and the same.
  bool is_there() const {
    struct stat status{};
    if (::fstatat(folder_.get(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (!S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) != remote_->size) return false;
    std::vector<char> buffer(256 << 10);
    const auto hashed = snapshot::hash_file(folder_.get(), name_, buffer, {});
    return hashed && hashed->digest == remote_->digest;
  }

  // Opens the part that is there, or a new one. `size` is how much of it is there.
  Status open_part() {
    constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    part_ = UniqueFd(::openat(folder_.get(), part_name_.c_str(), kFlags, 0600));
    if (!part_) return failed(errno, "create", remote_->path);
    struct stat status{};
    if (::fstat(part_.get(), &status) != 0) return failed(errno, "open", remote_->path);
    if (!S_ISREG(status.st_mode))
      return fail(ErrorCode::kConflict, fmt::format("{} is in the way of a download", part_name_),
                  "remove it");
    if (::flock(part_.get(), LOCK_EX | LOCK_NB) != 0)
      return fail(ErrorCode::kConflict,
                  fmt::format("another download of {} into this folder is running", remote_->path),
                  "wait for it to end");
    size_ = static_cast<uint64_t>(status.st_size);
    if (size_ > remote_->size) SLIPWAY_TRY(start_over());
    return {};
  }

  Status start_over() {
    if (::ftruncate(part_.get(), 0) != 0) return failed(errno, "write", remote_->path);
    size_ = 0;
    return {};
  }

  Status append(std::string_view bytes) {
    if (bytes.size() > remote_->size - size_)
      return fail(ErrorCode::kInternal, fmt::format("the server sent more than {} has", remote_->path));
    while (!bytes.empty()) {
      const ssize_t count = ::pwrite(part_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return failed(errno, "write", remote_->path);
      bytes.remove_prefix(static_cast<size_t>(count));
      size_ += static_cast<uint64_t>(count);
    }
    return {};
  }

  Status complete() {
    const mode_t mode = (remote_->mode & 0100) != 0 ? 0755 : 0644;
    if (::fchmod(part_.get(), mode) != 0) return failed(errno, "set the mode of", remote_->path);
    if (::renameat(folder_.get(), part_name_.c_str(), folder_.get(), name_.c_str()) != 0)
      return failed(errno, "write", remote_->path);
    return {};
  }

  void discard() { ::unlinkat(folder_.get(), part_name_.c_str(), 0); }

  int fd() const { return part_.get(); }
  uint64_t size() const { return size_; }
  const RemoteFile& remote() const { return *remote_; }

 private:
  explicit IncomingFile(const RemoteFile& remote) : remote_(&remote) {}

  const RemoteFile* remote_;
  UniqueFd folder_;
  std::string name_;
  std::string part_name_;
  UniqueFd part_;
  uint64_t size_ = 0;
};

class Downloader {
 public:
  Downloader(const Connection& connection, const std::vector<RemoteFile>& files, int root_fd,
             const DownloadOptions& options)
      : connection_(connection),
        files_(files),
        root_fd_(root_fd),
        options_(options),
        meter_(options.on_progress, total_size(files), files.size()) {}

  Result<DownloadSummary> run() {
    // The largest first, so that no connection is left alone with one at the end.
    std::vector<const RemoteFile*> order;
    order.reserve(files_.size());
    for (const RemoteFile& file : files_) order.push_back(&file);
    std::ranges::sort(order, std::greater(), &RemoteFile::size);
    const size_t workers = std::min<size_t>(std::max(1U, options_.connections), order.size());
    std::vector<std::unique_ptr<Requests>> connections(workers);
    SLIPWAY_TRY(snapshot::parallel_for(order.size(), workers, [&](size_t worker, size_t index) -> Status {
      if (!connections[worker]) connections[worker] = std::make_unique<Requests>(connection_, options_.retry);
      return fetch(*connections[worker], *order[index]);
    }));
    meter_.finish();
    return DownloadSummary{.files = written_, .skipped = skipped_, .bytes = received_};
  }

 private:
  static uint64_t total_size(const std::vector<RemoteFile>& files) {
    uint64_t total = 0;
    for (const RemoteFile& file : files) total += file.size;
    return total;
  }

  Status fetch(Requests& requests, const RemoteFile& remote) {
    SLIPWAY_ASSIGN(IncomingFile file, IncomingFile::open(root_fd_, remote));
    if (file.is_there()) {
      ++skipped_;
      meter_.add_bytes(remote.size);
      meter_.add_files(1);
      return {};
    }
    SLIPWAY_TRY(file.open_part());
    meter_.add_bytes(file.size());
    bool matches = false;
    // A part left by a crash may be damaged: then all of it is fetched once more.
    for (int tries = 0; tries < 2 && !matches; ++tries) {
      if (tries > 0) {
        meter_.take_back(file.size());
        SLIPWAY_TRY(file.start_over());
      }
      SLIPWAY_ASSIGN(const Digest digest, receive(requests, file));
      matches = digest == remote.digest;
    }
    if (!matches) {
      file.discard();
      return fail(ErrorCode::kInternal,
                  fmt::format("what the server sent for {} does not match its digest", remote.path),
                  "try again; when it stays so, the server's storage is damaged");
    }
    SLIPWAY_TRY(file.complete());
    ++written_;
    meter_.add_files(1);
    return {};
  }

  // Brings the file to its full size, and gives the digest of what is there then.
  Result<Digest> receive(Requests& requests, IncomingFile& file) {
    std::optional<FollowingHasher> beside;
    if (file.remote().size >= kLargeFile) {
      beside.emplace(file.fd());
      beside->written(file.size());
    }
    int failures = 0;
    while (file.size() < file.remote().size) {
      const uint64_t before = file.size();
      const Status received = receive_some(requests, file, beside ? &*beside : nullptr);
      if (received && file.size() > before) continue;
      Error error = received
                        ? Error{.code = ErrorCode::kUnavailable,
                                .message = fmt::format("the server sends no more of {}", file.remote().path),
                                .next = "",
                                .detail = ""}
                        : received.error();
      if (file.size() > before) failures = 1;  // it moves
      if (!requests.wait_to_repeat(error, failures)) return fail(std::move(error));
    }
    if (beside) return beside->finish();
    FollowingHasher all(file.fd());
    all.written(file.size());
    return all.finish();
  }

  Status receive_some(Requests& requests, IncomingFile& file, FollowingHasher* beside) {
    http::Call call;
    call.method = http::Method::kGet;
    call.target = file.remote().target;
    if (file.size() > 0) call.headers.emplace("Range", fmt::format("bytes={}-", file.size()));
    call.sink = [&](std::string_view bytes) -> Status {
      SLIPWAY_TRY(file.append(bytes));
      if (beside != nullptr) beside->written(file.size());
      received_ += bytes.size();
      meter_.add_bytes(bytes.size());
      return {};
    };
    SLIPWAY_TRY(requests.stream(std::move(call)));
    return {};
  }

  const Connection& connection_;
  const std::vector<RemoteFile>& files_;
  const int root_fd_;
  const DownloadOptions& options_;
  ProgressMeter meter_;
  std::atomic<size_t> written_ = 0;
  std::atomic<size_t> skipped_ = 0;
  std::atomic<uint64_t> received_ = 0;
};

}  // namespace

Result<DownloadSummary> download_files(const Connection& connection, const std::vector<RemoteFile>& files,
                                       const std::filesystem::path& folder, const DownloadOptions& options) {
  for (const RemoteFile& file : files)
    if (!is_clean_relative_path(file.path))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the server names a file whose path leaves the folder: '{}'", file.path),
                  "nothing was written");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const UniqueFd root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return failed(errno, "open the folder", folder.string());
  return Downloader(connection, files, root.get(), options).run();
}

Result<std::vector<RemoteFile>> list_run_files(Requests& requests, std::string_view run,
                                               std::string_view prefix) {
  const std::string base = requests.connection().in_workspace("/runs/" + http::percent_encode(run));
  SLIPWAY_ASSIGN(const json::array items, requests.list(base + "/files", {{"prefix", std::string(prefix)}}));
  std::vector<RemoteFile> files;
  for (const json::value& item : items) {
    if (!item.is_object())
      return fail(ErrorCode::kInternal, "the list of files is not one of a Slipway server");
    RemoteFile file;
    std::string digest;
    JsonFields fields(item.get_object(), "a file of the run");
    fields.required("path", file.path);
    fields.required("size", file.size);
    fields.required("digest", digest);
    fields.optional("mode", file.mode);
    SLIPWAY_TRY(fields.finish_lenient());
    SLIPWAY_ASSIGN(file.digest, Digest::parse(digest));
    file.target = base + "/files/content" + to_text(Query{{"path", file.path}});
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::vector<RemoteFile>> list_snapshot_files(Requests& requests, std::string_view snapshot) {
  const std::string base = requests.connection().in_workspace("/snapshots/" + http::percent_encode(snapshot));
  http::Call call;
  call.target = base;
  SLIPWAY_ASSIGN(const http::ClientResponse answer, requests.send(call));
  SLIPWAY_ASSIGN(const snapshot::Manifest manifest, snapshot::Manifest::parse(answer.body));
  std::vector<RemoteFile> files;
  files.reserve(manifest.entries().size());
  for (const snapshot::Entry& entry : manifest.entries())
    files.push_back({.path = entry.path,
                     .target = base + "/blobs/" + entry.digest.hex(),
                     .size = entry.size,
                     .digest = entry.digest,
                     .mode = entry.mode});
  return files;
}

}  // namespace slipway::client
