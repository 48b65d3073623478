// HTTP/1 messages from bytes. Beast's parser does the work (it refuses a message with both Content-Length and
// Transfer-Encoding, bare line feeds in fields, ...); its headers stay in parser.cc because they compile
// slowly.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway::http {

struct Head {
  std::string method;  // of a request
  std::string target;
  int status = 0;    // of a response
  int version = 11;  // 10 or 11
  std::map<std::string, std::string, std::less<>>
      headers;  // names in lower case; repeated ones joined by ", "
  bool keep_alive = false;
  bool chunked = false;
  bool until_eof = false;  // a response whose body ends with the connection
  std::optional<uint64_t> length;
};

class MessageParser {
 public:
  enum class Kind { kRequest, kResponse, kHeadResponse };

  MessageParser(Kind kind, size_t header_limit);
  ~MessageParser();
  MessageParser(MessageParser&&) noexcept;
  MessageParser& operator=(MessageParser&&) noexcept;

  // Takes one step over `input` and returns how many bytes it consumed; 0 while neither the head nor the body
  // has become complete: call again with those same bytes and more. Stops at the end of the head once.
  // kTooLarge: the head or a chunk's header line passes the limit; kInvalidArgument: not HTTP.
  Result<size_t> put(std::string_view input);
  // The connection has ended. An error when the message has not.
  Status put_end();

  Kind kind() const;
  bool head_done() const;
  bool done() const;
  Head& head() { return *head_; }
  const Head& head() const { return *head_; }

  // From now on fields are checked and not kept, but for Connection and Transfer-Encoding: for a head that is
  // passed on as it came.
  void skip_fields();

  // Body bytes are appended to `sink` until it holds `limit`; then put consumes no more of them. To be set
  // before the body's first byte is put.
  void collect(std::string* sink, size_t limit);

 private:
  class Impl;
  std::unique_ptr<Head> head_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway::http
