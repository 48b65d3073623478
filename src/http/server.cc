#include "http/server.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <map>
#include <mutex>
#include <vector>

#include "http/door.h"

namespace slipway::http {

class Server::Impl {
 public:
  Impl(ServerOptions options, const Router& router, Authoriser& authoriser, Notifier& notifier,
       Gateway* gateway)
      : site_(std::move(options), router, authoriser, notifier, gateway) {}

  Status start() {
    if (site_.options.tls) {
      SLIPWAY_ASSIGN(site_.tls,
                     TlsContext::for_server(site_.options.tls->certificate, site_.options.tls->key));
    }
    SLIPWAY_TRY(site_.handlers.start());
    SLIPWAY_TRY(site_.uploads.start());
    SLIPWAY_ASSIGN(Listener listener, Listener::open(site_.options));
    for (unsigned i = 0; i < std::max(1U, site_.options.io_threads); ++i)
      shards_.push_back(std::make_unique<Shard>(site_, i));
    own_door_ = std::make_shared<Door>(site_, shards_, std::move(listener), nullptr);
    shards_.front()->spawn(Door::accept_all(own_door_), "accept");
    for (const auto& shard : shards_) shard->start();
    return {};
  }

  void stop() {
    if (shards_.empty()) return;
    {
      const std::lock_guard lock(doors_mutex_);
      if (site_.stopping.exchange(true)) return;
      for (auto& [name, door] : doors_) close(std::move(door));
      doors_.clear();
    }
    close(own_door_);
    for (const auto& shard : shards_) shard->begin_stop();
    const Monotonic deadline = std::chrono::steady_clock::now() + site_.options.grace_to_stop;
    for (const auto& shard : shards_)
      if (!shard->wait_until_stopped(deadline)) shard->cut_all();
    for (const auto& shard : shards_) shard->join();
    site_.handlers.stop();
    site_.uploads.stop();
    own_door_.reset();
  }

  uint16_t port() const { return own_door_ ? own_door_->port() : 0; }

  Result<uint16_t> open_door(const std::string& name, uint16_t port) {
    const std::lock_guard lock(doors_mutex_);
    if (site_.stopping) return fail(ErrorCode::kUnavailable, "the server is stopping");
    if (const auto known = doors_.find(name); known != doors_.end()) return known->second->port();
    ServerOptions options = site_.options;
    options.port = port;
    SLIPWAY_ASSIGN(Listener listener, Listener::open(options));
    auto door = std::make_shared<Door>(site_, shards_, std::move(listener),
                                       std::make_shared<const std::string>(name));
    Shard* shard = shards_.front().get();
    asio::post(shard->executor(), [shard, door] { shard->spawn(Door::accept_all(door), "accept"); });
    return doors_.emplace(name, std::move(door)).first->second->port();
  }

  void close_door(const std::string& name) {
    const std::lock_guard lock(doors_mutex_);
    const auto found = doors_.find(name);
    if (found == doors_.end()) return;
    close(std::move(found->second));
    doors_.erase(found);
  }

  ServerCounters counters() const {
    return {.requests = site_.requests,
            .open_connections = site_.open_connections,
            .rejected_connections = site_.rejected_connections};
  }

 private:
  void close(std::shared_ptr<Door> door) {
    asio::post(shards_.front()->executor(), [door = std::move(door)] { door->close(); });
  }

  Site site_;
  std::vector<std::unique_ptr<Shard>> shards_;
  // Doors are shared with their coroutines on the first shard.
  std::shared_ptr<Door> own_door_;
  std::mutex doors_mutex_;  // guards doors_
  std::map<std::string, std::shared_ptr<Door>> doors_;
};

Server::Server(ServerOptions options, const Router& router, Authoriser& authoriser, Notifier& notifier,
               Gateway* gateway)
    : impl_(std::make_unique<Impl>(std::move(options), router, authoriser, notifier, gateway)) {}
Server::~Server() {
  stop();
}
Status Server::start() {
  return impl_->start();
}
uint16_t Server::port() const {
  return impl_->port();
}
void Server::stop() {
  impl_->stop();
}
ServerCounters Server::counters() const {
  return impl_->counters();
}
Result<uint16_t> Server::open_door(const std::string& name, uint16_t port) {
  return impl_->open_door(name, port);
}
void Server::close_door(const std::string& name) {
  impl_->close_door(name);
}

}  // namespace slipway::http
