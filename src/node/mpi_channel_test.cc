#include "node/mpi_channel.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/hmac.h"

namespace slipway::node {
namespace {

const Secret kSecret("attempt-secret");

TEST(Hmac, IsTheStandardOne) {
  EXPECT_EQ(hmac_sha256(Secret("Jefe"), "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      hmac_sha256(Secret(std::string(131, '\xaa')), "Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(MpiChannel, AnOrderIsGoodForItsSecretAndItsNonceAlone) {
  const std::vector<std::string> arguments{"-mca", "ess", "env"};
  const std::string line = order_line(kSecret, "nonce", arguments);
  EXPECT_EQ(line.find("attempt-secret"), std::string::npos);
  EXPECT_EQ(arguments_in(line, kSecret, "nonce").value(), arguments);
  for (const auto& [secret, nonce] :
       {std::pair(kSecret, "other"), std::pair(Secret("x"), "nonce"), std::pair(Secret(), "nonce")}) {
    const auto refused = arguments_in(line, secret, nonce);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  }
  std::string changed = line;
  changed.replace(changed.find("env"), 3, "foo");
  EXPECT_FALSE(arguments_in(changed, kSecret, "nonce"));
  for (const char* text :
       {"", "{}", "[]", "{\"arguments\":[],\"proof\":\"\"}", "{\"arguments\":[1],\"proof\":\"\"}"})
    EXPECT_FALSE(arguments_in(text, kSecret, "nonce")) << text;
}

TEST(MpiChannel, ReadsLineByLineAndNoticesTheEnd) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  MpiChannel ours{UniqueFd(ends[0])};
  {
    MpiChannel theirs{UniqueFd(ends[1])};
    ASSERT_TRUE(theirs.send_line("hello a"));
    ASSERT_TRUE(theirs.send_line("b"));
    EXPECT_EQ(ours.read_line(std::chrono::seconds(5)).value(), "hello a");
    EXPECT_EQ(ours.read_line(std::chrono::seconds(5)).value(), "b");
    EXPECT_EQ(ours.read_line(std::chrono::milliseconds(1)).error().code, ErrorCode::kTimeout);
  }
  EXPECT_EQ(ours.read_line(std::chrono::seconds(5)).error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(ours.send_line("anybody?") && ours.send_line("?"));
}

TEST(MpiChannel, KnowsAddresses) {
  EXPECT_EQ(endpoint_from_text("10.0.0.2:4711").value().port, "4711");
  EXPECT_EQ(endpoint_from_text("fe80::1:4711").value().host, "fe80::1");
  for (const char* text : {"", "host", ":1", "host:"}) EXPECT_FALSE(endpoint_from_text(text)) << text;
}

TEST(MpiChannel, TakesItsVariablesOutOfTheEnvironment) {
  ::setenv("SLIPWAY_TEST_VARIABLE", "x", 1);
  EXPECT_EQ(take_variable("SLIPWAY_TEST_VARIABLE"), "x");
  EXPECT_EQ(::getenv("SLIPWAY_TEST_VARIABLE"), nullptr);
  EXPECT_EQ(take_variable("SLIPWAY_TEST_VARIABLE"), "");
}

}  // namespace
}  // namespace slipway::node
