#include "http/door.h"

#include <fcntl.h>

#include <boost/asio/as_tuple.hpp>
#include <tuple>
#include <utility>

#include "base/log.h"

namespace slipway::http {
namespace {

constexpr std::chrono::milliseconds kPauseWithoutDescriptors{100};
constexpr int kAcceptAtOnce = 64;  // then others of the shard have their turn

}  // namespace

Door::Door(Site& site, std::vector<std::unique_ptr<Shard>>& shards, Listener listener,
           std::shared_ptr<const std::string> name)
    : site_(site),
      shards_(shards),
      listener_(std::move(listener)),
      name_(std::move(name)),
      incoming_(shards.front()->executor(), ::fcntl(listener_.fd(), F_DUPFD_CLOEXEC, 0)),
      pause_(shards.front()->executor()) {}

void Door::close() {
  closed_ = true;
  boost::system::error_code ignored;
  std::ignore = incoming_.close(ignored);
  pause_.cancel();
}

Task<void> Door::accept_all(std::shared_ptr<Door> door) {
  bool exhausted = false;
  while (!door->closed_) {
    const auto [error] = co_await door->incoming_.async_wait(Descriptor::wait_read, asio::as_tuple(kUseTask));
    if (error) continue;
    const bool was_exhausted = std::exchange(exhausted, !door->accept_some());
    if (was_exhausted && !exhausted) log_info("http.descriptors_available_again");
    if (!exhausted) continue;
    if (!was_exhausted)
      log_warning("http.no_descriptors_left", {{"next", "raise the limit of open files (ulimit -n)"}});
    ++door->site_.rejected_connections;
    door->pause_.expires_after(kPauseWithoutDescriptors);
    co_await door->pause_.async_wait(asio::as_tuple(kUseTask));
  }
}

// Hands waiting connections to the shards in turn. False: no descriptor is left for them.
bool Door::accept_some() {
  for (int taken = 0; taken < kAcceptAtOnce; ++taken) {
    UniqueFd connection;
    const Listener::Outcome outcome = listener_.accept(connection);
    if (outcome != Listener::Outcome::kTaken) return outcome == Listener::Outcome::kNone;
    shards_[next_shard_++ % shards_.size()]->adopt(std::move(connection), name_);
  }
  return true;
}

}  // namespace slipway::http
