#include "access/authoriser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/testing.h"

namespace slipway::access {
namespace {

using http::Access;
using http::CallerKind;

constexpr Access kAll[] = {Access::kPublic, Access::kReader, Access::kContributor, Access::kOwner,
                           Access::kAdmin,  Access::kNode,   Access::kRun};
using Params = std::map<std::string, std::string>;

TokenInfo user(Role role) {
  TokenInfo token;
  token.name = "someone";
  token.role = role;
  if (role != Role::kAdmin) token.workspace = WorkspaceName("main");
  return token;
}

TokenInfo run_token() {
  TokenInfo token;
  token.kind = CallerKind::kRun;
  token.workspace = WorkspaceName("main");
  token.run = RunId("run-1");
  token.attempt = 2;
  return token;
}

TokenInfo node_token() {
  TokenInfo token;
  token.kind = CallerKind::kNode;
  token.workspace = WorkspaceName("main");
  token.node = NodeId("node-1");
  return token;
}

// The accesses that are granted, as a string of their first letters: the table reads better.
std::string granted(const TokenInfo& token, const Params& params) {
  std::string letters;
  for (const Access needed : kAll)
    if (decide(token, needed, params)) letters += "prcoanR"[static_cast<int>(needed)];
  return letters;
}

ErrorCode refusal(const TokenInfo& token, Access needed, const Params& params) {
  const auto decided = decide(token, needed, params);
  EXPECT_FALSE(decided);
  return decided ? ErrorCode::kInternal : decided.error().code;
}

TEST(Decide, GivesAUserWhatItsRoleAllows) {
  const Params main{{"workspace", "main"}, {"run", "any"}};
  EXPECT_EQ(granted(user(Role::kReader), main), "pr");
  EXPECT_EQ(granted(user(Role::kContributor), main), "prcR");
  EXPECT_EQ(granted(user(Role::kOwner), main), "prcoR");
  EXPECT_EQ(granted(user(Role::kAdmin), main), "prcoaR");
  EXPECT_EQ(granted(user(Role::kAdmin), {{"workspace", "elsewhere"}}), "prcoaR");
  EXPECT_EQ(granted(user(Role::kReader), {}), "pr");
}

TEST(Decide, HidesAForeignWorkspaceWhateverIsAskedForThere) {
  for (const TokenInfo& token : {user(Role::kReader), user(Role::kOwner), run_token(), node_token()})
    for (const Access needed : kAll)
      EXPECT_EQ(refusal(token, needed, {{"workspace", "other"}}), ErrorCode::kNotFound);
}

TEST(Decide, TellsAMemberThatItsRoleIsTooLow) {
  const auto decided = decide(user(Role::kReader), Access::kOwner, {{"workspace", "main"}});
  ASSERT_FALSE(decided);
  EXPECT_EQ(decided.error().code, ErrorCode::kPermissionDenied);
  EXPECT_THAT(decided.error().message, testing::HasSubstr("owner"));
  EXPECT_THAT(decided.error().message, testing::HasSubstr("reader"));
}

TEST(Decide, GivesARunItsOwnRunAndItsWorkspacesBlobs) {
  EXPECT_EQ(granted(run_token(), {{"workspace", "main"}, {"run", "run-1"}}), "rR");
  EXPECT_EQ(granted(run_token(), {{"workspace", "main"}}), "R");
  EXPECT_EQ(granted(run_token(), {{"workspace", "main"}, {"run", "run-2"}}), "");
  EXPECT_EQ(granted(run_token(), {{"workspace", "main"}, {"run", "run"}}), "");
  EXPECT_EQ(refusal(run_token(), Access::kRun, {{"workspace", "main"}, {"run", "run-2"}}),
            ErrorCode::kNotFound);
  EXPECT_EQ(refusal(run_token(), Access::kReader, {{"workspace", "main"}}), ErrorCode::kPermissionDenied);
}

TEST(Decide, GivesANodeItsOwnNodeOnly) {
  EXPECT_EQ(granted(node_token(), {{"node", "node-1"}}), "n");
  EXPECT_EQ(granted(node_token(), {{"node", "node-1"}, {"run", "run-1"}}), "n");
  EXPECT_EQ(granted(node_token(), {{"node", "node-2"}}), "");
  EXPECT_EQ(granted(node_token(), {{"workspace", "main"}}), "");
  EXPECT_EQ(refusal(node_token(), Access::kNode, {{"node", "node-2"}}), ErrorCode::kNotFound);
}

TEST(Decide, SaysWhoCalls) {
  const auto caller = decide(run_token(), Access::kRun, {});
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->kind, CallerKind::kRun);
  EXPECT_EQ(caller->run, RunId("run-1"));
  EXPECT_EQ(caller->attempt, 2);
  EXPECT_FALSE(caller->admin);
  EXPECT_TRUE(decide(user(Role::kAdmin), Access::kReader, {})->admin);
  EXPECT_EQ(decide(user(Role::kOwner), Access::kReader, {})->role, Access::kOwner);
}

class TokenAuthoriserTest : public testing::Test {
 protected:
  Result<http::Caller> ask(const std::string& header, Access needed = Access::kReader, Params params = {}) {
    http::Request request;
    if (!header.empty()) request.headers["authorization"] = header;
    request.params = std::move(params);
    return authoriser_.authorise(request, needed);
  }
  std::string admin() {
    const UserTokenOrder order{.name = "root", .role = Role::kAdmin, .workspace = {}, .expires_at = {}};
    NewToken token;
    EXPECT_TRUE(store_->write([&](store::Writer& writer) -> Status {
      SLIPWAY_ASSIGN(token, create_user_token(writer, order, clock_.now()));
      return {};
    }));
    id_ = token.id;
    return token.text.reveal();
  }
  // A run whose one part has the token.
  std::string start_run(const char* id) {
    NewToken token;
    const Status made = store_->write([&](store::Writer& writer) -> Status {
      SLIPWAY_TRY(
          writer.run("INSERT INTO runs (seq, id, workspace, experiment, cluster, state, job, submitted_at) "
                     "VALUES (1, ?, 'main', 'e', 'local', 'Running', '{}', 0)",
                     {id}));
      SLIPWAY_ASSIGN(token, create_run_token(writer, RunId(id), 1, WorkspaceName("main"), clock_.now()));
      return writer.run(
          "INSERT INTO attempt_nodes (run_seq, run, attempt, rank, node, state, token_id, created_at) "
          "VALUES (1, ?, 1, 0, 'n', 'claimed', ?, 0)",
          {id, token.id});
    });
    EXPECT_TRUE(made) << (made ? "" : made.error().detail);
    return token.text.reveal();
  }
  void set_attempt_state(const char* state) {
    ASSERT_TRUE(store_->write(
        [&](store::Writer& writer) { return writer.run("UPDATE attempt_nodes SET state = ?", {state}); }));
  }

  store::TestStore store_;
  ManualClock clock_;
  TokenAuthoriser authoriser_{store_.database(), clock_};
  TokenId id_;
};

TEST_F(TokenAuthoriserTest, LetsAnybodyUseAPublicRoute) {
  const auto caller = ask("", Access::kPublic);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->kind, CallerKind::kAnonymous);
}

TEST_F(TokenAuthoriserTest, AsksForATokenElsewhere) {
  for (const char* header : {"", "Basic abc", "Bearer", "Bearer ", "bearer x", "slw_x_y"}) {
    const auto caller = ask(header);
    ASSERT_FALSE(caller) << header;
    EXPECT_EQ(caller.error().code, ErrorCode::kUnauthenticated);
    EXPECT_FALSE(caller.error().next.empty());
  }
}

TEST_F(TokenAuthoriserTest, KnowsTheBearer) {
  const std::string token = admin();
  for (const char* scheme : {"Bearer ", "bearer ", "BEARER  "}) {
    const auto caller = ask(scheme + token, Access::kAdmin);
    ASSERT_TRUE(caller) << scheme;
    EXPECT_TRUE(caller->admin);
    EXPECT_EQ(caller->name, "root");
  }
}

TEST_F(TokenAuthoriserTest, StopsARevokedTokenAtOnce) {
  const std::string token = admin();
  ASSERT_TRUE(ask("Bearer " + token));
  ASSERT_TRUE(store_->write([&](store::Writer& writer) { return revoke_token(writer, id_, clock_.now()); }));
  EXPECT_EQ(ask("Bearer " + token).error().code, ErrorCode::kUnauthenticated);
}

TEST_F(TokenAuthoriserTest, StopsARunsTokenWithItsAttempt) {
  const std::string token = start_run("run-1");
  const Params own{{"workspace", "main"}, {"run", "run-1"}};
  for (const char* state : {"ordered", "claimed", "started", "exited"}) {
    set_attempt_state(state);
    EXPECT_TRUE(ask("Bearer " + token, Access::kRun, own)) << state;
  }
  for (const char* state : {"finished", "fenced"}) {
    set_attempt_state(state);
    EXPECT_EQ(ask("Bearer " + token, Access::kRun, own).error().code, ErrorCode::kUnauthenticated) << state;
  }
}

TEST_F(TokenAuthoriserTest, StopsARunsTokenWhenTheAttemptHasAnother) {
  const std::string token = start_run("run-1");
  ASSERT_TRUE(store_->write(
      [&](store::Writer& writer) { return writer.run("UPDATE attempt_nodes SET token_id = 'other'"); }));
  EXPECT_FALSE(ask("Bearer " + token, Access::kRun));
}

TEST_F(TokenAuthoriserTest, NeverShowsATokenInAnError) {
  const std::string token = admin();
  const std::string wrong = token.substr(0, token.size() - 2) + "zz";
  const auto refused = ask("Bearer " + wrong);
  ASSERT_FALSE(refused);
  const std::string all = refused.error().message + refused.error().next + refused.error().detail;
  EXPECT_THAT(all, testing::Not(testing::HasSubstr(wrong.substr(20))));
}

TEST(NoAuthoriser, MakesEverybodyAnAdminAndAnAgentItsNode) {
  NoAuthoriser authoriser;
  http::Request request;
  request.params = {{"node", "node-7"}};
  for (const Access needed : kAll) EXPECT_TRUE(authoriser.authorise(request, needed));
  EXPECT_TRUE(authoriser.authorise(request, Access::kReader)->admin);
  EXPECT_EQ(authoriser.authorise(request, Access::kNode)->node, NodeId("node-7"));
}

TEST_F(TokenAuthoriserTest, LetsARunReachTheRunsBelowItAndNoOther) {
  const std::string token = "Bearer " + start_run("mine");
  const std::pair<const char*, const char*> others[] = {{"child", "mine"},
                                                        {"deep", "child"},
                                                        {"sibling", "top"},
                                                        {"stranger", nullptr},
                                                        {"child-2", "stranger"}};
  ASSERT_TRUE(store_->write([&](store::Writer& writer) -> Status {
    SLIPWAY_TRY(writer.run("UPDATE runs SET parent = 'top' WHERE id = 'mine'"));
    for (const auto& [id, parent] : others)
      SLIPWAY_TRY(writer.run(
          "INSERT INTO runs (id, workspace, experiment, cluster, state, job, submitted_at, parent) "
          "VALUES (?, 'main', 'e', '', 'Running', '{}', 0, ?)",
          {id, parent == nullptr ? store::Value(nullptr) : store::Value(parent)}));
    return {};
  }));
  const auto may = [&](const char* run) {
    return ask(token, Access::kRun, {{"workspace", "main"}, {"run", run}}).has_value();
  };
  for (const char* own : {"mine", "child", "deep"}) EXPECT_TRUE(may(own)) << own;
  for (const char* other : {"sibling", "top", "stranger", "child-2", "chil", "none", "latest"})
    EXPECT_FALSE(may(other)) << other;
  EXPECT_FALSE(ask(token, Access::kContributor, {{"workspace", "main"}, {"run", "child"}}));
  EXPECT_FALSE(ask(token, Access::kRun, {{"workspace", "other"}, {"run", "child"}}));
  EXPECT_EQ(ask(token, Access::kRun, {{"workspace", "main"}, {"run", "child"}})->run, RunId("mine"));
}

}  // namespace
}  // namespace slipway::access
