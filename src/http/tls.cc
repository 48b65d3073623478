#include "http/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/log.h"

namespace slipway::http {
namespace {

// OpenSSL's own socket BIO uses write(2), which raises SIGPIPE; this one sends with MSG_NOSIGNAL.
int fd_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<intptr_t>(::BIO_get_data(bio)));
}

int bio_write(BIO* bio, const char* bytes, int count) {
  ::BIO_clear_retry_flags(bio);
  ssize_t sent = 0;
  do {
    sent = ::send(fd_of(bio), bytes, static_cast<size_t>(count), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno == EAGAIN) ::BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int bio_read(BIO* bio, char* bytes, int count) {
  ::BIO_clear_retry_flags(bio);
  ssize_t got = 0;
  do {
    got = ::recv(fd_of(bio), bytes, static_cast<size_t>(count), 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) ::BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

long bio_control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "slipway socket");
    ::BIO_meth_set_write(made, bio_write);
    ::BIO_meth_set_read(made, bio_read);
    ::BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

std::string openssl_reason() {
  std::array<char, 256> text{};
  ::ERR_error_string_n(::ERR_peek_last_error(), text.data(), text.size());
  ::ERR_clear_error();
  return text.data();
}

std::unexpected<Error> unusable(std::string_view what, const std::string& file, std::string_view next) {
  Error error{.code = ErrorCode::kInvalidArgument,
              .message = fmt::format("cannot use {} from {}", what, file),
              .next = std::string(next),
              .detail = openssl_reason()};
  return std::unexpected(std::move(error));
}

ssl_ctx_st* new_context(const SSL_METHOD* method) {
  ssl_ctx_st* context = ::SSL_CTX_new(method);
  if (context == nullptr) abort_because("OpenSSL gave no context");
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // The sender may come back with a longer buffer at another address, as long as it begins with the same
  // bytes.
  ::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
  return context;
}

// Marks the sessions that may speak HTTP/2.
void* http2_mark() {
  static char mark = 0;
  return &mark;
}

// The first of ours that the client offers too (ALPN).
int choose_protocol(SSL* session, const unsigned char** out, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  constexpr std::string_view kBoth = "\x02h2\x08http/1.1";
  const std::string_view ours = SSL_get_app_data(session) == http2_mark() ? kBoth : kBoth.substr(3);
  unsigned char* chosen = nullptr;
  const int found =
      ::SSL_select_next_proto(&chosen, size, reinterpret_cast<const unsigned char*>(ours.data()),
                              static_cast<unsigned>(ours.size()), offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

bool is_address(const std::string& host) {
  ASN1_OCTET_STRING* address = ::a2i_IPADDRESS(host.c_str());
  if (address == nullptr) ::ERR_clear_error();
  ::ASN1_OCTET_STRING_free(address);
  return address != nullptr;
}

}  // namespace

void TlsContext::FreeContext::operator()(ssl_ctx_st* context) const {
  ::SSL_CTX_free(context);
}

Result<TlsContext> TlsContext::for_server(const std::string& certificate_file, const std::string& key_file) {
  TlsContext made(new_context(::TLS_server_method()));
  ssl_ctx_st* context = made.context_.get();
  constexpr std::string_view kNext = "give a readable PEM file: --tls-cert and --tls-key";
  if (::SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1)
    return unusable("the TLS certificate", certificate_file, kNext);
  if (::SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return unusable("the TLS key", key_file, kNext);
  if (::SSL_CTX_check_private_key(context) != 1)
    return unusable("the TLS key", key_file,
                    "the key does not belong to the certificate: give the matching pair");
  ::SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  return made;
}

Result<TlsContext> TlsContext::for_client(const std::string& ca_file) {
  TlsContext made(new_context(::TLS_client_method()));
  ssl_ctx_st* context = made.context_.get();
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (ca_file.empty()) {
    ::SSL_CTX_set_default_verify_paths(context);
  } else if (::SSL_CTX_load_verify_file(context, ca_file.c_str()) != 1) {
    return unusable("the certificates to trust", ca_file, "give a readable PEM file");
  }
  return made;
}

TlsSession TlsContext::session_on(int fd) const {
  TlsSession session(::SSL_new(context_.get()));
  if (session == nullptr) abort_because("OpenSSL gave no session");
  BIO* bio = ::BIO_new(socket_method());
  // NOLINTNEXTLINE(performance-no-int-to-ptr): OpenSSL's place for it is a pointer
  ::BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
  ::BIO_set_init(bio, 1);
  ::SSL_set_bio(session.get(), bio, bio);
  return session;
}

TlsSession TlsContext::accept(int fd, bool http2) const {
  TlsSession session = session_on(fd);
  if (http2) SSL_set_app_data(session.get(), http2_mark());
  ::SSL_set_accept_state(session.get());
  return session;
}

TlsSession TlsContext::connect(int fd, const std::string& host) const {
  TlsSession session = session_on(fd);
  if (is_address(host)) {
    ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(session.get()), host.c_str());
  } else {
    ::SSL_set_tlsext_host_name(session.get(), host.c_str());
    ::SSL_set1_host(session.get(), host.c_str());
  }
  ::SSL_set_connect_state(session.get());
  return session;
}

}  // namespace slipway::http
