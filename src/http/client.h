// A blocking HTTP/1.1 client with keep-alive and a deadline on everything. One Client is one connection at a
// time and is not thread-safe; make one for each thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"
#include "http/message.h"

namespace slipway::http {

struct ClientOptions {
  std::string url = {};      // "http://127.0.0.1:7070" or https
  Secret token = {};         // sent as Bearer; may be empty
  std::string ca_file = {};  // for https: trust this instead of the system's store
  std::chrono::milliseconds connect_time{5000};
  std::chrono::milliseconds answer_time{30000};  // no byte moved for this long
  // For addresses that others name: 169.254.0.0/16 and fe80::/10, where clouds give out credentials, are not
  // connected to, whatever name leads there.
  bool refuse_link_local = false;
};

struct ClientResponse {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;
};

// Where a request's body comes from, asked for piece by piece; empty at the end.
using BodySource = std::function<Result<std::string_view>()>;
// Takes a response's body piece by piece; an error ends the transfer with it.
using BodySink = std::function<Status(std::string_view)>;

// Looks at status and headers before the body comes; an error ends the transfer with it.
using OnHead = std::function<Status(const ClientResponse&)>;

struct Call {
  Method method = Method::kGet;
  std::string target = {};  // path and query, already encoded
  std::map<std::string, std::string> headers = {};
  std::string body = {};
  std::string content_type = "application/json";
  BodySource source = {};  // instead of body
  uint64_t source_length = 0;
  BodySink sink = {};  // for 2xx answers: instead of ClientResponse::body
  OnHead on_head = {};
};

class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // Any status is a success here. kUnreachable when nothing answers at the address (the request was not sent,
  // or a kept-alive connection had been closed and one new connection failed too), kTimeout, kUnavailable for
  // a connection that broke in the middle. A request is repeated on a fresh connection only when the
  // kept-alive one turned out closed before any byte of the answer came and the method is idempotent or has
  // an Idempotency-Key.
  Result<ClientResponse> send(Call call);

  // The same, and a status of 400 or more is the Error in its body.
  Result<ClientResponse> call(Call call);
  // Sends and reads JSON; an empty answer is a null value.
  Result<json::value> json_call(Method method, std::string target, const json::value* body = nullptr,
                                std::map<std::string, std::string> headers = {});

  // Reads an event stream until it ends in order (ok), `on_event` returns false (ok), or it breaks (an error:
  // the caller calls again with the last id it has seen). A silence of `silence` is a break: heartbeats come
  // every 15 s.
  Status events(const std::string& target, const std::string& last_id,
                const std::function<bool(const Event&)>& on_event,
                std::chrono::milliseconds silence = std::chrono::seconds(45));

  // Ends a call in progress from another thread, once: it returns kUnavailable. The one thread-safe member.
  void interrupt();

  const ClientOptions& options() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Cuts an event stream into events. A pure state machine (fuzzed).
class EventParser {
 public:
  // Adds bytes; gives each whole event to `on_event`. kTooLarge when one event passes 8 MiB.
  Status feed(std::string_view bytes, const std::function<void(Event)>& on_event);

 private:
  void take_line(const std::function<void(Event)>& on_event);

  std::string line_;
  Event current_;
  bool has_data_ = false;
  bool after_return_ = false;  // the last byte was '\r': a '\n' that follows belongs to it
};

}  // namespace slipway::http
