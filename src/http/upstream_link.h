// What carries one request to the server that answers it and its answer back: a connection to that server,
// and the waiting for it. Lives on its shard's thread, whose sweep ends waits that are over time.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "http/gateway.h"
#include "http/io_types.h"
#include "http/parser.h"
#include "http/upstream_connection.h"

namespace slipway::http {

class Shard;
struct Limits;

class UpstreamLink {
 public:
  // Both outlive it.
  UpstreamLink(Shard& shard, const Limits& limits);
  ~UpstreamLink();
  UpstreamLink(const UpstreamLink&) = delete;
  UpstreamLink& operator=(const UpstreamLink&) = delete;

  // A kept connection or a new one. False: nothing was sent, and another server may be tried.
  Task<bool> connect(const Upstream* upstream);
  // For a later request to the same server, or not at all.
  void keep(const Upstream& upstream);
  void drop() { connection_.reset(); }

  enum class Sent { kAll, kAnsweredEarly, kBroken, kLate, kClientGone };
  // `second` goes out behind `first`, in one packet where they fit; with `more` others follow at once.
  Task<Sent> write(std::string_view first, std::string_view second = {}, bool more = false);
  // Whether an answer has begun to come.
  bool answered() const { return connection_->readable(); }
  // Calls `on_answer` when it begins to come, once, unless `end_watch` is called before.
  void watch(std::function<void()> on_answer);
  void end_watch();

  // Reads what comes into `input`. kAnswered: something came.
  Task<PassageEnd> fill(Monotonic deadline);
  // Reads up to the end of the answer's head, which `raw` then holds with all its fields; 1xx answers are
  // passed over.
  Task<PassageEnd> read_head(MessageParser* answer, std::string* raw, Monotonic deadline);
  InputBuffer& input() { return connection_->input; }
  // Whether anything has come since `connect`.
  bool answer_begun() const { return answer_begun_; }

  Monotonic deadline() const { return deadline_; }
  // Ends the wait: the server is late.
  void overdue();
  // Ends this wait and any later one.
  void cut();

 private:
  // kMoved: ready; kWantRead: the deadline passed; kBroken: cut.
  Task<IoState> ready(IoState want, Monotonic deadline);

  Shard& shard_;
  const Limits& limits_;
  std::unique_ptr<UpstreamConnection> connection_;
  Monotonic deadline_ = Monotonic::max();
  std::shared_ptr<bool> watching_;  // shared with the wait that may outlive the watch
  bool answer_begun_ = false;
  bool late_ = false;
  bool cut_ = false;
  std::list<UpstreamLink*>::iterator place_;  // in the shard's list
};

}  // namespace slipway::http
