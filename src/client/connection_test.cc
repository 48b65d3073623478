#include "client/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "snapshot/test_folder.h"

namespace slipway::client {
namespace {

using snapshot::TestFolder;
using testing::HasSubstr;

class FindConnection : public testing::Test {
 protected:
  FindConnection() {
    for (const char* name :
         {"SLIPWAY_URL", "SLIPWAY_TOKEN", "SLIPWAY_WORKSPACE", "SLIPWAY_CA_FILE", "SLIPWAY_HOME"})
      ::unsetenv(name);
    hints_.home = home_.path();
    hints_.working_folder = work_.write("a/b/file", "").parent_path();
  }
  ~FindConnection() override {
    ::unsetenv("SLIPWAY_URL");
    ::unsetenv("SLIPWAY_TOKEN");
    ::unsetenv("SLIPWAY_WORKSPACE");
  }

  void run_local_server() {
    home_.write("server.json",
                R"({"url":"http://127.0.0.1:7070/","pid":1,"version":"0.1.0","auth":"token"})");
    home_.write("token", "slw_home_token\n");
  }

  Connection find() {
    auto found = find_connection(hints_);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(Connection());
  }

  TestFolder home_;
  TestFolder work_;
  ConnectionHints hints_;
};

TEST_F(FindConnection, TakesTheLocalServerWhenNothingElseIsNamed) {
  run_local_server();
  const Connection found = find();
  EXPECT_EQ(found.http.url, "http://127.0.0.1:7070");
  EXPECT_EQ(found.http.token.reveal(), "slw_home_token");
  EXPECT_EQ(found.workspace, "default");
  EXPECT_TRUE(found.from_home);
}

TEST_F(FindConnection, PrefersTheCallerThenTheEnvironmentThenTheConfigFile) {
  run_local_server();
  work_.write("a/config.json", R"({"url":"https://config.example","workspace":"vision"})");
  EXPECT_EQ(find().http.url, "https://config.example");
  EXPECT_EQ(find().workspace, "vision");
  work_.write("a/.slipway/config.json", R"({"url":"https://dot.example"})");
  EXPECT_EQ(find().http.url, "https://dot.example");
  ::setenv("SLIPWAY_URL", "https://environment.example/", 1);
  ::setenv("SLIPWAY_TOKEN", "slw_env", 1);
  ::setenv("SLIPWAY_WORKSPACE", "speech", 1);
  EXPECT_EQ(find().http.url, "https://environment.example");
  EXPECT_EQ(find().http.token.reveal(), "slw_env");
  EXPECT_EQ(find().workspace, "speech");
  hints_.url = "https://given.example";
  hints_.token = Secret("slw_given");
  hints_.workspace = "text";
  EXPECT_EQ(find().http.url, "https://given.example");
  EXPECT_EQ(find().http.token.reveal(), "slw_given");
  EXPECT_EQ(find().workspace, "text");
}

TEST_F(FindConnection, SendsNoTokenToAServerItWasNotGivenFor) {
  run_local_server();
  ::setenv("SLIPWAY_TOKEN", "slw_env", 1);
  work_.write("config.json", R"({"url":"https://evil.example"})");
  EXPECT_TRUE(find().http.token.empty());
  work_.write("config.json", R"({"url":"https://evil.example","token_file":"/etc/passwd"})");
  EXPECT_FALSE(find_connection(hints_));
  work_.write("config.json", R"({"url":"https://evil.example","token_file":"../x"})");
  EXPECT_FALSE(find_connection(hints_));
  ::unsetenv("SLIPWAY_TOKEN");
  hints_.url = "https://elsewhere.example";
  EXPECT_TRUE(find().http.token.empty());
}

TEST_F(FindConnection, ShowsTheHomesTokenToTheHomesServerHoweverItIsNamed) {
  run_local_server();
  hints_.url = "http://localhost:7070";
  EXPECT_EQ(find().http.token.reveal(), "slw_home_token");
  hints_.url = "http://localhost:7071";
  EXPECT_TRUE(find().http.token.empty());
}

TEST_F(FindConnection, ReadsTheTokenBesideTheConfigFile) {
  work_.write("config.json", R"({"url":"https://team.example","token_file":"secrets/token"})");
  work_.write("secrets/token", "slw_team\n");
  EXPECT_EQ(find().http.token.reveal(), "slw_team");
}

TEST_F(FindConnection, PassesOverAnotherProgramsConfigFile) {
  run_local_server();
  work_.write("a/config.json", R"({"subscription_id":"1","workspace_name":"x"})");
  work_.write("a/b/config.json", "not json");
  EXPECT_EQ(find().http.url, "http://127.0.0.1:7070");
}

TEST_F(FindConnection, SaysHowToStartAServerWhenThereIsNone) {
  const auto found = find_connection(hints_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnreachable);
  EXPECT_THAT(found.error().next, HasSubstr("slipway up"));
}

TEST_F(FindConnection, RefusesABadWorkspaceAndAMissingTokenFile) {
  run_local_server();
  hints_.workspace = "../x";
  EXPECT_EQ(find_connection(hints_).error().code, ErrorCode::kInvalidArgument);
  hints_.workspace = "";
  hints_.token_file = home_.path() / "none";
  EXPECT_EQ(find_connection(hints_).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(FindConnection, SeesThatTheLocalServerHasMoved) {
  run_local_server();
  Connection found = find();
  EXPECT_FALSE(found.look_again());
  home_.write("server.json", R"({"url":"http://127.0.0.1:9090"})");
  EXPECT_TRUE(found.look_again());
  EXPECT_EQ(found.http.url, "http://127.0.0.1:9090");
}

}  // namespace
}  // namespace slipway::client
