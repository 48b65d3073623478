// The body of a request whose handler pulls it. Runs on the worker, which reads the socket itself: the
// kernel's receive buffer is what the peer fills meanwhile, so there is no hand-over between threads and no
// second copy.
#pragma once

#include <chrono>
#include <string>

#include "http/channel.h"
#include "http/input_buffer.h"
#include "http/message.h"
#include "http/parser.h"

namespace slipway::http {

class IncomingBody final : public BodyReader {
 public:
  struct Rules {
    uint64_t limit = 0;
    std::chrono::milliseconds progress_time{};
    bool expects_continue =
        false;  // the peer waits for "100 Continue": sent once the handler asks for the body
  };

  // Everything outlives the body. `input` holds what came behind the head.
  IncomingBody(Channel& channel, InputBuffer& input, MessageParser& parser, Rules rules);

  // What was lent is used.
  ~IncomingBody() override { input_.consume(lent_); }

  Result<std::string_view> next() override;

  // Whether all of it has been read.
  bool ended() const;
  // Whether so little is left that reading it costs less than a new connection.
  bool nearly_ended() const;

 private:
  Result<std::string_view> next_of_known_length();
  Result<std::string_view> next_of_chunks();
  Status ask_for_it();
  // Reads what there is; with `patient` it waits for the first byte, else 0 says that none is there now.
  Result<size_t> fill(std::span<char> space, bool patient);

  Channel& channel_;
  InputBuffer& input_;
  MessageParser& parser_;
  Rules rules_;
  uint64_t left_ = 0;      // of a known length
  uint64_t received_ = 0;  // of chunks
  size_t lent_ = 0;        // bytes of `input_` that the last call gave out
  std::string piece_;
};

}  // namespace slipway::http
