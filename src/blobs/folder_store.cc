#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/log.h"
#include "base/random.h"
#include "blobs/blob_folder.h"
#include "blobs/blob_store.h"
#include "blobs/folder_writer.h"

namespace slipway::blobs {
namespace {

constexpr auto kStaleTime = std::chrono::hours(24);

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The names in one folder, "." and ".." left out.
void for_each_name(int parent, const std::string& name, const std::function<void(const char*)>& visit) {
  const int fd = ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(fd));
  if (!folder) {
    ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(folder.get()))
    if (entry->d_name[0] != '.') visit(entry->d_name);
}

// Files of partial() that are written, synced and then published together; those not published are removed.
//
// Many new files are synced with the whole file system, twice: each fdatasync of a new file is a commit of
// the file system's journal, which for some hundred files takes seconds.
class Aside {
 public:
  explicit Aside(BlobFolder& folder) : folder_(folder) {
    // Opened before anything is written: errors of writing from then on are reported to it.
    whole_ = UniqueFd(::openat(folder.root(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  ~Aside() {
    for (const File& file : files_)
      if (!file.name.empty()) ::unlinkat(folder_.partial(), file.name.c_str(), 0);
  }

  Status write(const Digest& digest, std::string_view content) {
    File& file = files_.emplace_back(digest, "put-" + random_base32(16));
    const UniqueFd fd(::openat(folder_.partial(), file.name.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) return fail(errno_error(errno, "store a blob"));
    return write_all(fd.get(), content);
  }

  Status publish() {
    SLIPWAY_FAILPOINT_ERROR("blob.sync");
    if (files_.empty()) return {};
    std::vector<Digest> digests;
    digests.reserve(files_.size());
    for (const File& file : files_) digests.push_back(file.digest);
    SLIPWAY_TRY(folder_.make_folders_for(digests));
    SLIPWAY_TRY(sync_contents());
    for (File& file : files_) {
      SLIPWAY_TRY(folder_.publish(file.name, file.digest));
      file.name.clear();
    }
    return are_many() ? sync_whole() : folder_.sync_names(digests);
  }

 private:
  struct File {
    Digest digest;
    std::string name;  // empty once published
  };

  bool are_many() const { return files_.size() > 8; }

  Status sync_whole() {
    if (!whole_ || ::syncfs(whole_.get()) != 0) return fail(errno_error(errno, "sync blobs"));
    return {};
  }

  Status sync_contents() {
    if (are_many()) return sync_whole();
    for (const File& file : files_) {
      const UniqueFd fd(::openat(folder_.partial(), file.name.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
      if (!fd || ::fdatasync(fd.get()) != 0) return fail(errno_error(errno, "sync a blob"));
    }
    return {};
  }

  BlobFolder& folder_;
  UniqueFd whole_;
  std::vector<File> files_;
};

class FolderStore final : public BlobStore {
 public:
  explicit FolderStore(std::unique_ptr<BlobFolder> folder) : folder_(std::move(folder)) {}

  std::optional<uint64_t> size_of(const Digest& digest) override {
    return size_at(folder_->root(), BlobFolder::name_of(digest));
  }

  Result<OpenBlob> open(const Digest& digest) override {
    const std::string name = BlobFolder::name_of(digest);
    UniqueFd fd(::openat(folder_->root(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd && errno == ENOENT)
      return fail(ErrorCode::kNotFound, fmt::format("there is no blob {}", digest.hex()));
    struct stat info{};
    if (!fd || ::fstat(fd.get(), &info) != 0)
      return fail(errno_error(errno, fmt::format("open the blob {}", digest.hex())));
    return OpenBlob{std::move(fd), static_cast<uint64_t>(info.st_size)};
  }

  std::unique_ptr<Hold> hold() override { return folder_->hold(); }

  Result<Digest> put(std::string_view content) override {
    const Digest digest = Digest::of(content);
    if (folder_->touch(digest)) return digest;
    Aside aside(*folder_);
    SLIPWAY_TRY(aside.write(digest, content));
    SLIPWAY_TRY(aside.publish());
    return digest;
  }

  Status put_all(const std::vector<NamedContent>& blobs) override {
    for (const NamedContent& blob : blobs)
      if (Digest::of(blob.content) != blob.digest)
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("the bytes received for {} have another digest", blob.digest.hex()),
                    "send them again");
    Aside aside(*folder_);
    for (const NamedContent& blob : blobs)
      if (!folder_->touch(blob.digest)) SLIPWAY_TRY(aside.write(blob.digest, blob.content));
    return aside.publish();
  }

  Result<std::unique_ptr<BlobWriter>> begin(const Digest& expected) override {
    return FolderWriter::begin(*folder_, expected);
  }

  uint64_t partial_size(const Digest& digest) override {
    return size_at(folder_->partial(), digest.hex()).value_or(0);
  }

  Result<std::optional<uint64_t>> hide(const Digest& digest, Duration unused) override {
    return folder_->hide(digest, unused);
  }

  void free_hidden() override {
    for_each_name(folder_->root(), ".partial", [&](const char* name) {
      if (std::string_view(name).starts_with(kHiddenPrefix)) ::unlinkat(folder_->partial(), name, 0);
    });
  }

  Status for_each(const std::function<void(const Digest&, uint64_t size)>& visit) override {
    for (int first = 0; first < 256; ++first) {
      const std::string folder = fmt::format("{:02x}", first);
      for_each_name(folder_->root(), folder, [&](const char* name) {
        const auto digest = Digest::parse(folder + name);
        if (!digest) return;
        if (const auto size = size_of(*digest)) visit(*digest, *size);
      });
    }
    return {};
  }

  void drop_stale_partials() override {
    for_each_name(folder_->root(), ".partial", [&](const char* name) {
      const UniqueFd fd(::openat(folder_->partial(), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
      struct stat info{};
      if (!fd || ::fstat(fd.get(), &info) != 0) return;
      const int64_t age = SystemClock().now().micros / 1'000'000 - info.st_mtim.tv_sec;
      if (age < std::chrono::seconds(kStaleTime).count()) return;
      // A lock means that somebody is at it, however slowly.
      if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return;
      if (::unlinkat(folder_->partial(), name, 0) == 0)
        log_info("blob.partial_dropped", {{"name", name}, {"bytes", info.st_size}});
    });
  }

 private:
  static std::optional<uint64_t> size_at(int folder, const std::string& name) {
    struct stat info{};
    if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    return static_cast<uint64_t>(info.st_size);
  }

  std::unique_ptr<BlobFolder> folder_;
};

}  // namespace

Result<std::unique_ptr<BlobStore>> open_folder_store(const std::string& folder) {
  SLIPWAY_ASSIGN(std::unique_ptr<BlobFolder> opened, BlobFolder::open(folder));
  return std::make_unique<FolderStore>(std::move(opened));
}

}  // namespace slipway::blobs
