// A listening port and the coroutine that takes its connections.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "http/io_types.h"
#include "http/listener.h"
#include "http/shard.h"

namespace slipway::http {

// Lives on one shard; `close` and destruction are for that shard's thread, or after it has ended.
class Door : public std::enable_shared_from_this<Door> {
 public:
  // `name` is null for the server's own port. The shards outlive it, and it is spawned on the first of them.
  Door(Site& site, std::vector<std::unique_ptr<Shard>>& shards, Listener listener,
       std::shared_ptr<const std::string> name);

  uint16_t port() const { return listener_.port(); }
  // The coroutine: until `close`.
  static Task<void> accept_all(std::shared_ptr<Door> door);
  void close();

 private:
  bool accept_some();

  Site& site_;
  std::vector<std::unique_ptr<Shard>>& shards_;
  Listener listener_;
  const std::shared_ptr<const std::string> name_;  // shared with its sessions
  Descriptor incoming_;                            // the listener's descriptor once more, for Asio to wait on
  Timer pause_;
  size_t next_shard_ = 0;
  bool closed_ = false;
};

}  // namespace slipway::http
