// One stream of an HTTP/2 connection: a request and its answer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/http2.h"
#include "http/upstream_connection.h"

namespace slipway::http {

struct Http2Connection::Stream {
  int32_t id = 0;
  Head head;
  size_t header_bytes = 0;
  Request request;
  const Route* route = nullptr;
  bool authorised = false;
  bool complete = false;  // the request has come
  bool answered = false;
  bool open = true;  // the peer still waits for the answer
  Monotonic progress;
  std::string body;  // of the answer
  size_t sent = 0;
  std::map<std::string, std::string> trailers;

  // On the door of a gateway.
  std::optional<Passage> passage;
  std::vector<uint64_t> tried;
  Monotonic chosen;
  std::unique_ptr<UpstreamConnection> upstream;
  bool answer_begun = false;
};

}  // namespace slipway::http
