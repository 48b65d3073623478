// A datastore that refuses to go on once it is told to stop, so that looking at a large folder does not hold
// up whoever wants to end.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "data/datastore.h"

namespace slipway::data {

// kUnavailable from every call after `stopped` has become true; `stopped` outlives it.
class StoppableDatastore final : public Datastore {
 public:
  StoppableDatastore(std::shared_ptr<Datastore> behind, const std::atomic<bool>& stopped)
      : behind_(std::move(behind)), stopped_(stopped) {}

  SourceKind kind() const override { return behind_->kind(); }
  Result<Page> list(const ListRequest& request) override {
    SLIPWAY_TRY(check());
    return behind_->list(request);
  }
  Result<Object> stat(const std::string& path) override {
    SLIPWAY_TRY(check());
    return behind_->stat(path);
  }
  Result<Object> read(const std::string& path, const Range& range, const std::string& tag,
                      const Sink& sink) override {
    return behind_->read(path, range, tag, [&](std::string_view bytes) -> Status {
      SLIPWAY_TRY(check());
      return sink(bytes);
    });
  }
  Result<Object> write(const std::string& path, const Pieces& pieces, bool overwrite) override {
    SLIPWAY_TRY(check());
    return behind_->write(path, pieces, overwrite);
  }
  Result<Object> hash(const std::string& path, std::span<char> buffer) override {
    SLIPWAY_TRY(check());
    return behind_->hash(path, buffer);
  }

 private:
  Status check() const {
    if (!stopped_) return {};
    return fail(ErrorCode::kUnavailable, "the server is stopping", "try again when it is back");
  }

  std::shared_ptr<Datastore> behind_;
  const std::atomic<bool>& stopped_;
};

}  // namespace slipway::data
