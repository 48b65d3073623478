#include "cli/listen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::cli {
namespace {

using testing::HasSubstr;

TEST(ParseListen, ReadsEverySpelling) {
  const auto is = [](const char* text, const char* host, uint16_t port, bool loopback) {
    const auto address = parse_listen(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->host, host) << text;
    EXPECT_EQ(address->port, port) << text;
    EXPECT_EQ(address->loopback, loopback) << text;
  };
  is("127.0.0.1:0", "127.0.0.1", 0, true);
  is("127.0.0.2", "127.0.0.2", kDefaultPort, true);
  is(":8080", "127.0.0.1", 8080, true);
  is("8080", "127.0.0.1", 8080, true);
  is("localhost:1", "127.0.0.1", 1, true);
  is("[::1]:99", "::1", 99, true);
  is("::1", "::1", kDefaultPort, true);
  is("0.0.0.0:7070", "0.0.0.0", 7070, false);
  is("[::]:7070", "::", 7070, false);
  is("10.1.2.3", "10.1.2.3", kDefaultPort, false);
}

TEST(ParseListen, RefusesEverythingElse) {
  for (const char* bad :
       {"example.org", "127.0.0.1:70000", "127.0.0.1:x", "1.2.3", "[::1", "[::1]x", "::1::", "127.0.0.1:-1"})
    EXPECT_FALSE(parse_listen(bad)) << bad;
}

TEST(ServerSettings, NeedTlsAndTokensWhereOtherMachinesReach) {
  UpOptions options;
  EXPECT_TRUE(server_settings(options, "/h"));
  options.listen = "0.0.0.0:7070";
  EXPECT_THAT(server_settings(options, "/h").error().next, HasSubstr("--tls-cert"));
  options.tls_certificate = options.tls_key = "/dev/null";
  EXPECT_TRUE(server_settings(options, "/h"));
  options.auth = "none";
  EXPECT_THAT(server_settings(options, "/h").error().message, HasSubstr("--auth none"));
  options.listen = "127.0.0.1";
  EXPECT_FALSE(server_settings(options, "/h")->require_token);
}

TEST(ServerSettings, RefuseHalfAPairOrAnUnreadableFile) {
  UpOptions options;
  options.tls_certificate = "/dev/null";
  EXPECT_THAT(server_settings(options, "/h").error().next, HasSubstr("both"));
  options.tls_key = "/nonexistent.pem";
  EXPECT_THAT(server_settings(options, "/h").error().message, HasSubstr("/nonexistent.pem"));
}

}  // namespace
}  // namespace slipway::cli
