#include "data/fetch_sources.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "blobs/blob_folder.h"
#include "data/folder_datastore.h"
#include "data/http_files.h"
#include "data/url.h"
#include "http/client.h"
#include "http/router.h"
#include "snapshot/parallel.h"

namespace slipway::data {
namespace {

constexpr size_t kPiece = 1 << 20;
constexpr size_t kLooks = 8;  // at once, when every file is looked at first

// Things that are expensive to make and that one caller uses at a time.
template <class T>
class Pool {
 public:
  std::unique_ptr<T> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    auto one = std::move(idle_.back());
    idle_.pop_back();
    return one;
  }
  void give_back(std::unique_ptr<T> one) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < 16) idle_.push_back(std::move(one));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

Status check(const Object& object, const File& file) {
  if (object.size == file.size) return {};
  return fail(ErrorCode::kConflict,
              fmt::format("it has {} bytes now, its version {}", object.size, file.size));
}

// A web server, asked by this machine itself.
class WebSource final : public ByteSource {
 public:
  // `is_datastore`: keys are paths below the address, instead of requests to the server.
  WebSource(Url base, bool is_datastore, SecretHeaders headers)
      : base_(std::move(base)), is_datastore_(is_datastore), headers_(std::move(headers)) {}

  Status read(const File& file, const Range& range, const Sink& sink) override {
    auto files = take();
    const auto object = files->read(
        url_of(file), {.offset = range.offset, .length = range.length, .part_only = true}, file.tag, sink);
    pool_.give_back(std::move(files));
    if (object) return check(*object, file);
    if (object.error().code == ErrorCode::kConflict)
      return fail(ErrorCode::kConflict, "its server gives it another entity tag now");
    return fail(object.error());
  }

  Result<Object> look(const File& file) override {
    auto files = take();
    auto object = files->stat(url_of(file));
    pool_.give_back(std::move(files));
    return object;
  }

 private:
  std::unique_ptr<HttpFiles> take() {
    auto files = pool_.take();
    return files != nullptr ? std::move(files) : std::make_unique<HttpFiles>(base_.server(), headers_);
  }
  Url url_of(const File& file) const {
    if (is_datastore_) return below(base_, file.key);
    Url url = base_;
    url.target = file.key;
    return url;
  }

  const Url base_;
  const bool is_datastore_;
  const SecretHeaders headers_;
  Pool<HttpFiles> pool_;
};

// A folder that this machine can read.
class FolderSource final : public ByteSource {
 public:
  explicit FolderSource(std::unique_ptr<FolderDatastore> folder) : folder_(std::move(folder)) {}

  Status read(const File& file, const Range& range, const Sink& sink) override {
    const auto object = folder_->read(file.key, range, "", sink);
    if (object) return check(*object, file);
    if (object.error().code == ErrorCode::kNotFound)
      return fail(ErrorCode::kConflict, "it is not there any more");
    return fail(object.error());
  }
  Result<Object> look(const File& file) override { return folder_->stat(file.key); }

 private:
  std::unique_ptr<FolderDatastore> folder_;
};

// Whatever Slipway's server holds or can open. Bytes in its own store are read from there where this machine
// shares it.
class ServerSource final : public ByteSource {
 public:
  ServerSource(const ServerContent& server, std::string content)
      : server_(server), content_(std::move(content)) {}

  Status read(const File& file, const Range& range, const Sink& sink) override {
    if (!server_.blobs.empty() && file.digest) {
      const auto path = server_.blobs / blobs::BlobFolder::name_of(*file.digest);
      const UniqueFd blob(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
      if (blob) return read_blob(blob.get(), range, sink);
    }
    auto client = pool_.take();
    if (client == nullptr)
      client = std::make_unique<http::Client>(
          http::ClientOptions{.url = server_.url, .token = server_.token, .ca_file = server_.ca_file});
    http::Call call;
    call.target = content_ + http::percent_encode(file.path);
    call.headers["Range"] = fmt::format("bytes={}-{}", range.offset, range.offset + range.length - 1);
    uint64_t skip = range.offset;
    call.sink = [&](std::string_view bytes) { return sink(bytes); };
    call.on_head = [&](const http::ClientResponse& head) -> Status {
      if (head.status == 206) skip = 0;
      return head.status == 200 && skip > 0
                 ? Status(fail(ErrorCode::kUnsupported, "the server gave no range"))
                 : Status();
    };
    const auto answer = client->call(std::move(call));
    pool_.give_back(std::move(client));
    if (answer) return {};
    return fail(answer.error());
  }

  // The workspace's own content is found by its digest and cannot have changed.
  Result<Object> look(const File& file) override {
    return Object{
        .path = file.path, .size = file.size, .tag = file.tag, .digest = file.digest, .refused = {}};
  }

 private:
  static Status read_blob(int fd, const Range& range, const Sink& sink) {
    const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
    for (uint64_t at = 0; at < range.length;) {
      const size_t wanted = std::min<uint64_t>(kPiece, range.length - at);
      const ssize_t count = ::pread(fd, buffer.get(), wanted, static_cast<off_t>(range.offset + at));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail(errno_error(errno, "read the workspace's store"));
      if (count == 0) return {};
      SLIPWAY_TRY(sink({buffer.get(), static_cast<size_t>(count)}));
      at += static_cast<uint64_t>(count);
    }
    return {};
  }

  const ServerContent server_;
  const std::string content_;
  Pool<http::Client> pool_;
};

Result<std::unique_ptr<ByteSource>> open_source(const Source& source, const SourceAccess& access,
                                                const ServerContent& server, const std::string& content) {
  if (source.kind == SourceKind::kHttp && !access.location.empty()) {
    SLIPWAY_ASSIGN(Url base, parse_url(access.location));
    return std::make_unique<WebSource>(std::move(base), !source.datastore.empty(), access.headers);
  }
  if (source.kind == SourceKind::kFolder && !access.location.empty()) {
    auto folder = FolderDatastore::open(access.location);
    if (folder) return std::make_unique<FolderSource>(std::move(*folder));
  }
  return std::make_unique<ServerSource>(server, content);
}

}  // namespace

Result<SourceAccess> source_access_from_json(const json::object& object) {
  SourceAccess access;
  std::string kind;
  std::map<std::string, std::string> headers;
  JsonFields fields(object, "a source of data");
  fields.required("kind", kind);
  fields.optional("datastore", access.source.datastore);
  fields.optional("location", access.location);
  fields.optional("headers", headers);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_ASSIGN(access.source.kind, source_kind_from_text(kind));
  for (auto& [name, value] : headers) access.headers.emplace_back(name, Secret(std::move(value)));
  return access;
}

Result<std::unique_ptr<FetchableVersion>> FetchableVersion::open(Origin origin, const ServerContent& server) {
  std::unique_ptr<FetchableVersion> version(new FetchableVersion());
  const std::vector<Source>& sources = origin.manifest.sources();
  if (origin.sources.size() != sources.size())
    return fail(ErrorCode::kInternal, fmt::format("{} has {} sources, and {} were told", origin.dataset,
                                                  sources.size(), origin.sources.size()));
  for (size_t index = 0; index < sources.size(); ++index) {
    SLIPWAY_ASSIGN(version->sources_.emplace_back(),
                   open_source(sources[index], origin.sources[index], server, origin.content));
  }
  version->dataset_ = std::move(origin.dataset);
  version->files_ = origin.manifest.files();
  if (!origin.verify) SLIPWAY_TRY(version->take_as_they_are());
  for (const File& file : version->files_) {
    version->wanted_.push_back({.key = cache_key(file, origin.sources[file.source].location),
                                .file = &file,
                                .source = version->sources_[file.source].get()});
    version->bytes_ += file.size;
  }
  return version;
}

Status FetchableVersion::take_as_they_are() {
  std::atomic<uint64_t> changed = 0;
  const Status looked =
      snapshot::parallel_for(files_.size(), kLooks, [&](size_t /*worker*/, size_t index) -> Status {
        File& file = files_[index];
        SLIPWAY_ASSIGN(Object object, sources_[file.source]->look(file));
        if (object.digest && file.digest && *object.digest == *file.digest) return {};
        if (object.size != file.size || (!file.tag.empty() && object.tag != file.tag)) ++changed;
        file.size = object.size;
        file.tag = std::move(object.tag);
        file.digest = object.digest;
        return {};
      });
  changed_ = changed;
  return looked;
}

}  // namespace slipway::data
