#include "http/server.h"

#include <fcntl.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <tuple>
#include <vector>

#include "base/log.h"
#include "http/listener.h"
#include "http/shard.h"

namespace slipway::http {
namespace {

constexpr std::chrono::milliseconds kPauseWithoutDescriptors{100};
constexpr int kAcceptAtOnce = 64;  // then others of the shard have their turn

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, const Router& router, Authoriser& authoriser, Notifier& notifier)
      : site_(std::move(options), router, authoriser, notifier) {}

  Status start() {
    if (site_.options.tls) {
      SLIPWAY_ASSIGN(site_.tls,
                     TlsContext::for_server(site_.options.tls->certificate, site_.options.tls->key));
    }
    SLIPWAY_TRY(site_.handlers.start());
    SLIPWAY_TRY(site_.uploads.start());
    SLIPWAY_ASSIGN(Listener listener, Listener::open(site_.options));
    listener_.emplace(std::move(listener));
    for (unsigned i = 0; i < std::max(1U, site_.options.io_threads); ++i)
      shards_.push_back(std::make_unique<Shard>(site_, i));
    incoming_.emplace(shards_.front()->executor(), ::fcntl(listener_->fd(), F_DUPFD_CLOEXEC, 0));
    pause_.emplace(shards_.front()->executor());
    shards_.front()->spawn(accept_all(), "accept");
    for (const auto& shard : shards_) shard->start();
    return {};
  }

  void stop() {
    if (shards_.empty() || site_.stopping.exchange(true)) return;
    asio::post(shards_.front()->executor(), [this] {
      boost::system::error_code ignored;
      std::ignore = incoming_->close(ignored);
      pause_->cancel();
    });
    for (const auto& shard : shards_) shard->begin_stop();
    const Monotonic deadline = std::chrono::steady_clock::now() + site_.options.grace_to_stop;
    for (const auto& shard : shards_)
      if (!shard->wait_until_stopped(deadline)) shard->cut_all();
    for (const auto& shard : shards_) shard->join();
    site_.handlers.stop();
    site_.uploads.stop();
    listener_.reset();
  }

  uint16_t port() const { return listener_ ? listener_->port() : 0; }

  ServerCounters counters() const {
    return {.requests = site_.requests,
            .open_connections = site_.open_connections,
            .rejected_connections = site_.rejected_connections};
  }

 private:
  Task<void> accept_all() {
    bool exhausted = false;
    while (!site_.stopping) {
      const auto [error] = co_await incoming_->async_wait(Descriptor::wait_read, asio::as_tuple(kUseTask));
      if (error) continue;
      const bool was_exhausted = std::exchange(exhausted, !accept_some());
      if (was_exhausted && !exhausted) log_info("http.descriptors_available_again");
      if (!exhausted) continue;
      if (!was_exhausted)
        log_warning("http.no_descriptors_left", {{"next", "raise the limit of open files (ulimit -n)"}});
      ++site_.rejected_connections;
      pause_->expires_after(kPauseWithoutDescriptors);
      co_await pause_->async_wait(asio::as_tuple(kUseTask));
    }
  }

  // Hands waiting connections to the shards in turn. False: no descriptor is left for them.
  bool accept_some() {
    for (int taken = 0; taken < kAcceptAtOnce; ++taken) {
      UniqueFd connection;
      const Listener::Outcome outcome = listener_->accept(connection);
      if (outcome != Listener::Outcome::kTaken) return outcome == Listener::Outcome::kNone;
      shards_[next_shard_++ % shards_.size()]->adopt(std::move(connection));
    }
    return true;
  }

  Site site_;
  std::optional<Listener> listener_;
  std::vector<std::unique_ptr<Shard>> shards_;
  // On the first shard: the listener's descriptor once more, for Asio to wait on.
  std::optional<Descriptor> incoming_;
  std::optional<Timer> pause_;
  size_t next_shard_ = 0;
};

Server::Server(ServerOptions options, const Router& router, Authoriser& authoriser, Notifier& notifier)
    : impl_(std::make_unique<Impl>(std::move(options), router, authoriser, notifier)) {}
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

}  // namespace slipway::http
