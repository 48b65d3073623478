// One I/O thread with its connections. Nothing here is shared between shards, so a connection needs no lock.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "http/session.h"

namespace slipway::http {

class Shard final : public Turn {
 public:
  Shard(Site& site, size_t index);
  ~Shard() override;

  size_t index() const override { return index_; }
  void at_end(std::move_only_function<void()> work) override;

  void start();

  // Thread-safe. A new session, or a refusal when there are too many and none is idle.
  void adopt(UniqueFd connection, std::shared_ptr<const std::string> door);
  // Thread-safe. Idle connections and event streams end now, others after their present answer.
  void begin_stop();
  // Thread-safe. Cuts what is left.
  void cut_all();
  // Whether the thread has come to its end within the time.
  bool wait_until_stopped(Monotonic deadline);
  void join();

  Executor executor() { return context_.get_executor(); }
  bool stopping() const { return stopping_; }

  // On the shard's thread.
  UpstreamPool& upstreams() { return upstreams_; }
  std::list<UpstreamLink*>& links() { return links_; }

  // Starts a coroutine that is counted, and whose failure is logged; `join` waits for all of them.
  void spawn(Task<void> task, const char* name);

  // For sessions, on the shard's thread. A new one is busy.
  std::list<Session*>::iterator insert(Session& session) { return busy_.insert(busy_.end(), &session); }
  void mark_idle(Session& session);
  void mark_busy(Session& session);
  void remove(Session& session);

 private:
  static Task<void> run_session(std::unique_ptr<Session> session);
  Task<void> sweep();
  void open_session(UniqueFd connection, std::shared_ptr<const std::string> door);
  bool make_room();

  Site& site_;
  const size_t index_;
  asio::io_context context_;
  asio::executor_work_guard<Executor> work_;
  Timer sweep_timer_;
  UpstreamPool upstreams_;
  std::list<UpstreamLink*> links_;
  std::list<Session*> idle_;  // the one idle for longest first
  std::list<Session*> busy_;
  size_t tasks_ = 0;
  bool stopping_ = false;
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
};

}  // namespace slipway::http
