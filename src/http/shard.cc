#include "http/shard.h"

#include <pthread.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>

#include "base/log.h"

namespace slipway::http {
namespace {

// How exact deadlines are. One pass over all connections costs less than a timer for each.
constexpr std::chrono::milliseconds kSweepEvery{200};

void refuse(const UniqueFd& connection) {
  Channel channel(connection.get(), {});
  Outgoing out(error_response({.code = ErrorCode::kUnavailable,
                               .message = "the server has as many connections as it may hold",
                               .next = "try again in a second",
                               .detail = ""}),
               false, false, 11);
  out.pump(channel);
}

}  // namespace

Shard::Shard(Site& site, size_t index)
    : site_(site),
      index_(index),
      context_(1),
      work_(asio::make_work_guard(context_)),
      sweep_timer_(context_.get_executor()) {}

Shard::~Shard() {
  join();
}

// Asio runs what is posted here behind the completions it has already taken from the kernel.
void Shard::at_end(std::move_only_function<void()> work) {
  asio::post(context_, [work = std::move(work)]() mutable { work(); });
}

void Shard::start() {
  spawn(sweep(), "sweep");
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "http-io");
    context_.run();
    if (tasks_ != 0) log_error("http.tasks_left_behind", {{"count", tasks_}});
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    ended_.notify_all();
  });
}

void Shard::spawn(Task<void> task, const char* name) {
  ++tasks_;
  asio::co_spawn(context_.get_executor(), std::move(task), [this, name](const std::exception_ptr& failure) {
    --tasks_;
    if (failure == nullptr) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& exception) {
      log_error("http.task_failed", {{"task", name}, {"why", exception.what()}});
    }
  });
}

void Shard::adopt(UniqueFd connection, std::shared_ptr<const std::string> door) {
  asio::post(context_, [this, connection = std::move(connection), door = std::move(door)]() mutable {
    open_session(std::move(connection), std::move(door));
  });
}

void Shard::open_session(UniqueFd connection, std::shared_ptr<const std::string> door) {
  if (stopping_) return;
  if (site_.open_connections >= site_.options.limits.connections && !make_room()) {
    ++site_.rejected_connections;
    if (!site_.tls) refuse(connection);
    return;
  }
  try {
    spawn(run_session(std::make_unique<Session>(*this, site_, std::move(connection), std::move(door))),
          "session");
  } catch (const std::exception& exception) {
    ++site_.rejected_connections;
    log_warning("http.connection_refused", {{"why", exception.what()}});
  }
}

// Closes the connection that has been idle for longest.
bool Shard::make_room() {
  if (idle_.empty()) return false;
  Session& oldest = *idle_.front();
  mark_busy(oldest);  // not to be chosen twice
  oldest.cut();
  return true;
}

Task<void> Shard::run_session(std::unique_ptr<Session> session) {
  co_await session->run();
}

void Shard::mark_idle(Session& session) {
  session.idle_ = true;
  idle_.splice(idle_.end(), busy_, session.place_);
}

void Shard::mark_busy(Session& session) {
  if (!std::exchange(session.idle_, false)) return;
  busy_.splice(busy_.end(), idle_, session.place_);
}

void Shard::remove(Session& session) {
  (session.idle_ ? idle_ : busy_).erase(session.place_);
  if (stopping_ && busy_.empty() && idle_.empty()) sweep_timer_.cancel();
}

Task<void> Shard::sweep() {
  while (!stopping_ || !idle_.empty() || !busy_.empty()) {
    sweep_timer_.expires_after(kSweepEvery);
    co_await sweep_timer_.async_wait(asio::as_tuple(kUseTask));
    const Monotonic now = std::chrono::steady_clock::now();
    for (const auto* list : {&idle_, &busy_})
      for (Session* session : *list)
        if (session->deadline() <= now) session->cut();
    for (UpstreamLink* link : links_)
      if (link->deadline() <= now) link->overdue();
    upstreams_.tidy(now);
  }
}

void Shard::begin_stop() {
  asio::post(context_, [this] {
    stopping_ = true;
    work_.reset();
    for (const auto* list : {&idle_, &busy_})
      for (Session* session : *list)
        if (!session->answering()) session->cut();
    sweep_timer_.cancel();
  });
}

void Shard::cut_all() {
  asio::post(context_, [this] {
    for (const auto* list : {&idle_, &busy_})
      for (Session* session : *list) {
        if (const Route* route = session->route())
          log_warning("http.cut_while_stopping", {{"route", route->pattern}});
        session->cut_hard();
      }
  });
}

bool Shard::wait_until_stopped(Monotonic deadline) {
  std::unique_lock lock(mutex_);
  return ended_.wait_until(lock, deadline, [this] { return has_ended_; });
}

void Shard::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace slipway::http
