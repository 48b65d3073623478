#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>

#include "base/digest.h"
#include "http/server_fixture.h"

namespace slipway::http {
namespace {

struct FileCloser {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, FileCloser>;

// A fresh self-signed certificate for 127.0.0.1.
void write_certificate(const std::string& certificate_file, const std::string& key_file) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("slipway test"),
                             -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
  X509_add_ext(certificate.get(), names, -1);
  X509_EXTENSION_free(names);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  PEM_write_X509(File(std::fopen(certificate_file.c_str(), "w")).get(), certificate.get());
  PEM_write_PrivateKey(File(std::fopen(key_file.c_str(), "w")).get(), key.get(), nullptr, nullptr, 0, nullptr,
                       nullptr);
}

class TlsTest : public ServerTest {
 protected:
  TlsTest() {
    char pattern[] = "/tmp/slipway-tls-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    write_certificate(folder_ + "/cert.pem", folder_ + "/key.pem");
    options.tls = TlsFiles{.certificate = folder_ + "/cert.pem", .key = folder_ + "/key.pem"};
    for (int i = 0; content_.size() < (3 << 20) + 11; ++i) content_ += fmt::format("{} ", i);
    const File file(std::fopen((folder_ + "/content").c_str(), "w"));
    std::fwrite(content_.data(), 1, content_.size(), file.get());
    route(Method::kPost, "/echo",
          [](const Request& request) -> Result<Response> { return text_response(request.body); });
    route(Method::kGet, "/file", [this](const Request& request) -> Result<Response> {
      return file_response(request, UniqueFd(::open((folder_ + "/content").c_str(), O_RDONLY | O_CLOEXEC)),
                           content_.size(), "text/plain", "");
    });
    router.add(Route(
        Method::kPut, "/stream", Access::kReader,
        [](const Request& request) -> Result<Response> {
          Hasher hasher;
          for (;;) {
            SLIPWAY_ASSIGN(const std::string_view piece, request.stream->next());
            if (piece.empty()) return text_response(hasher.finish().hex());
            hasher.update(piece);
          }
        },
        BodyMode::kStreamed, 1 << 30));
  }
  ~TlsTest() override { std::filesystem::remove_all(folder_); }
  ClientOptions trusting() const {
    ClientOptions chosen = client_options();
    chosen.url.insert(4, "s");
    chosen.ca_file = folder_ + "/cert.pem";
    return chosen;
  }
  std::string folder_;
  std::string content_;
};

TEST_F(TlsTest, CarriesRequestsStreamsAndFiles) {
  start();
  Client caller(trusting());
  for (const size_t size : {5UL, 100'000UL, 3'000'000UL}) {
    const auto answer =
        caller.call({.method = Method::kPost, .target = "/echo", .body = std::string(size, 'e')});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body.size(), size);
  }
  EXPECT_EQ(caller.call({.target = "/file"})->body, content_);
  size_t offset = 0;
  const auto streamed = caller.call({.method = Method::kPut,
                                     .target = "/stream",
                                     .source = [&]() -> Result<std::string_view> {
                                       const auto piece = std::string_view(content_).substr(offset, 300'000);
                                       offset += piece.size();
                                       return piece;
                                     },
                                     .source_length = content_.size()});
  ASSERT_TRUE(streamed) << streamed.error().message;
  EXPECT_EQ(streamed->body, Digest::of(content_).hex());
  EXPECT_EQ(server->counters().open_connections, 1U);
}

TEST_F(TlsTest, AStreamedBodyMayBeTheFirstRequest) {
  start();
  Client caller(trusting());
  const std::string piece(1 << 20, 's');
  const auto answer = caller.call({.method = Method::kPut,
                                   .target = "/stream",
                                   .source = [&]() -> Result<std::string_view> { return piece; },
                                   .source_length = 8 * piece.size()});
  EXPECT_TRUE(answer) << answer.error().message;
}

TEST_F(TlsTest, RefusesACertificateThatIsNotTrusted) {
  start();
  ClientOptions chosen = trusting();
  chosen.ca_file.clear();
  Client caller(chosen);
  const auto answer = caller.send({.target = "/file"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnreachable);
  EXPECT_NE(answer.error().message.find("certificate"), std::string::npos) << answer.error().message;
}

TEST_F(TlsTest, RefusesACertificateForAnotherName) {
  start();
  ClientOptions chosen = trusting();
  chosen.url = "https://localhost:" + std::to_string(server->port());
  Client caller(chosen);
  const auto answer = caller.send({.target = "/file"});
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("mismatch"), std::string::npos) << answer.error().message;
}

TEST_F(TlsTest, APlainRequestIsSentAway) {
  start();
  EXPECT_FALSE(exchange("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").contains("<timeout>"));
}

TEST_F(TlsTest, AHandshakeThatDoesNotComeIsCutOff) {
  options.limits.header_time = std::chrono::seconds(1);
  start();
  RawSocket silent(server->port());
  EXPECT_EQ(silent.read_all(), "");
}

TEST_F(TlsTest, FilesThatCannotBeUsedAreNamed) {
  options.tls->key = folder_ + "/missing.pem";
  Server without_key(options, router, gate, notifier);
  const Status started = without_key.start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message.find("missing.pem"), std::string::npos);
  options.tls->certificate = folder_ + "/content";
  EXPECT_EQ(Server(options, router, gate, notifier).start().error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace slipway::http
