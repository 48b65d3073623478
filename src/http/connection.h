// The client's side of one connection: sends a request, reads the answer. Blocking, with a deadline that each
// byte moved puts off. Not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "http/address.h"
#include "http/channel.h"
#include "http/client.h"
#include "http/input_buffer.h"
#include "http/parser.h"
#include "http/tls.h"

namespace slipway::http {

class Connection {
 public:
  struct Times {
    std::chrono::milliseconds connect{};
    std::chrono::milliseconds answer{};
  };

  // `tls` is null for plain TCP, and outlives the connection.
  static Result<std::unique_ptr<Connection>> open(const Address& address, const TlsContext* tls, Times times,
                                                  int interrupt_fd);

  // Sends the head and the body. An answer that comes before all is sent ends it early, in order: the server
  // has made up its mind, and the connection is good for that answer alone.
  Status send(std::string_view head, const Call& call);

  // Reads up to the end of the head; 1xx answers are skipped.
  Status read_head(bool of_head_request);
  Head& head() { return parser_->head(); }
  // The body piece by piece; the end when the piece is empty. Valid until the next call.
  Result<std::string_view> next_piece();

  // From now on no byte may fail to come for longer than this.
  void set_patience(std::chrono::milliseconds time) { patience_ = time; }
  // Whether a byte of the answer has come: if so the request must not be repeated.
  bool answer_begun() const { return answer_begun_; }
  // Whether another request may follow: the answer has been read to its end.
  bool reusable() const { return reusable_; }
  // False when the server has closed it meanwhile.
  bool still_open() { return !answer_waiting(); }

 private:
  Connection(UniqueFd fd, TlsSession tls, Times times, int interrupt_fd);
  Status handshake(const Address& address, std::chrono::steady_clock::time_point deadline);
  Result<bool> write_all(std::string_view bytes, bool more);
  Status wait_for(IoState want, bool or_readable = false);
  // Whether something is to be read: an answer, or the end of the connection.
  bool answer_waiting();
  Result<size_t> read_some(std::span<char> space);
  Result<std::string_view> next_of_known_length();
  Result<std::string_view> next_of_others();
  std::string_view end_of_answer();

  UniqueFd fd_;
  Channel channel_;
  int interrupt_fd_;
  std::chrono::milliseconds patience_;
  InputBuffer input_;
  std::optional<MessageParser> parser_;
  uint64_t left_ = 0;
  size_t lent_ = 0;
  std::string piece_;
  bool sent_all_ = false;
  bool answer_begun_ = false;
  bool reusable_ = false;
};

}  // namespace slipway::http
