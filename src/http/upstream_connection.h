// Connections to the servers that requests are passed on to, kept open between requests. Each shard has its
// own, so nothing is shared between threads.
#pragma once

#include <list>
#include <map>
#include <memory>

#include "base/clock.h"
#include "http/channel.h"
#include "http/gateway.h"
#include "http/input_buffer.h"
#include "http/io_types.h"

namespace slipway::http {

struct UpstreamConnection {
  UpstreamConnection(const Executor& executor, UniqueFd connection);

  // False when the server has closed it, or has sent what nobody asked for.
  bool quiet() const;
  // Whether an answer, or the end of the connection, can be read now.
  bool readable() const;

  Socket socket;
  Channel channel;
  InputBuffer input;
  Monotonic idle_since;
};

// A socket that is being connected, non-blocking. kUnreachable.
Result<UniqueFd> begin_connect(const Upstream& upstream);
// The outcome, once it is writable.
Status finish_connect(int fd);

class UpstreamPool {
 public:
  // A connection that is open and idle, or null.
  std::unique_ptr<UpstreamConnection> take(const Upstream& upstream);
  void keep(const Upstream& upstream, std::unique_ptr<UpstreamConnection> connection, Monotonic now);
  // Closes those that have been idle for too long.
  void tidy(Monotonic now);
  void clear() { idle_.clear(); }

 private:
  std::map<uint64_t, std::list<std::unique_ptr<UpstreamConnection>>> idle_;  // the one used last first
};

}  // namespace slipway::http
