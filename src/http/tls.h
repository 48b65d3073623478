// TLS settings shared by many connections: version 1.2 and up, OpenSSL's default ciphers.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "http/channel.h"

struct ssl_ctx_st;

namespace slipway::http {

// Thread-safe once made.
class TlsContext {
 public:
  // PEM files; kInvalidArgument names the one that cannot be used.
  static Result<TlsContext> for_server(const std::string& certificate_file, const std::string& key_file);
  // Trusts `ca_file`, or the system's store when it is empty.
  static Result<TlsContext> for_client(const std::string& ca_file);

  // `http2`: a client that offers it gets it.
  TlsSession accept(int fd, bool http2) const;
  // Verifies the peer's certificate against `host`, a name or an address.
  TlsSession connect(int fd, const std::string& host) const;

 private:
  struct FreeContext {
    void operator()(ssl_ctx_st* context) const;
  };
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  TlsSession session_on(int fd) const;

  std::unique_ptr<ssl_ctx_st, FreeContext> context_;
};

}  // namespace slipway::http
