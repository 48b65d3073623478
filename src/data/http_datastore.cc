#include "data/http_datastore.h"

#include <fmt/format.h>

#include "base/file.h"
#include "data/shown.h"

namespace slipway::data {
namespace {

constexpr size_t kMostIdle = 8;

Status check(const std::string& path) {
  if (is_clean_relative_path(path)) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no path below a datastore", shown(path)),
              "paths are relative, without '..', empty components and backslashes");
}

}  // namespace

std::unique_ptr<HttpFiles> HttpDatastore::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<HttpFiles>(base_.server(), credentials_);
  auto files = std::move(idle_.back());
  idle_.pop_back();
  return files;
}

void HttpDatastore::give_back(std::unique_ptr<HttpFiles> files) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(files));
}

Result<Page> HttpDatastore::list(const ListRequest& /*request*/) {
  return fail(ErrorCode::kUnsupported, "a web server cannot be asked which files it has",
              "name each file, or keep a list of them beside your code");
}

Result<Object> HttpDatastore::stat(const std::string& path) {
  SLIPWAY_TRY(check(path));
  auto files = take();
  auto object = files->stat(below(base_, path));
  give_back(std::move(files));
  if (object) object->path = path;
  return object;
}

Result<Object> HttpDatastore::read(const std::string& path, const Range& range, const std::string& tag,
                                   const Sink& sink) {
  SLIPWAY_TRY(check(path));
  auto files = take();
  auto object = files->read(below(base_, path), range, tag, sink);
  give_back(std::move(files));
  if (object) object->path = path;
  return object;
}

Result<Object> HttpDatastore::write(const std::string& path, const Pieces& /*pieces*/, bool /*overwrite*/) {
  return fail(ErrorCode::kUnsupported,
              fmt::format("'{}' cannot be written: an http datastore is read only", shown(path)),
              "choose a folder or the workspace's own store");
}

}  // namespace slipway::data
