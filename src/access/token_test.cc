#include "access/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "store/testing.h"

namespace slipway::access {
namespace {

using testing::HasSubstr;

class TokenTest : public testing::Test {
 protected:
  NewToken create(UserTokenOrder order) {
    NewToken token;
    const Status made = store_->write([&](store::Writer& writer) -> Status {
      SLIPWAY_ASSIGN(token, create_user_token(writer, order, clock_.now()));
      return {};
    });
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return token;
  }
  Result<TokenInfo> verify(const std::string& text) {
    SLIPWAY_ASSIGN(const ParsedToken parsed, parse_token(text));
    std::optional<TokenInfo> info;
    SLIPWAY_TRY(store_->read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(info, verify_token(reader, parsed, clock_.now()));
      return {};
    }));
    return *info;
  }
  Status revoke(const TokenId& id) {
    return store_->write([&](store::Writer& writer) { return revoke_token(writer, id, clock_.now()); });
  }

  store::TestStore store_;
  ManualClock clock_;
  const UserTokenOrder admin_{.name = "root", .role = Role::kAdmin, .workspace = {}, .expires_at = {}};
};

TEST_F(TokenTest, IsKnownAgainByItsText) {
  const NewToken token = create(
      {.name = "ci", .role = Role::kContributor, .workspace = WorkspaceName("main"), .expires_at = {}});
  EXPECT_THAT(token.text.reveal(), testing::StartsWith("slw_"));
  const auto info = verify(token.text.reveal());
  ASSERT_TRUE(info);
  EXPECT_EQ(info->id, token.id);
  EXPECT_EQ(info->name, "ci");
  EXPECT_EQ(info->role, Role::kContributor);
  EXPECT_EQ(info->workspace, WorkspaceName("main"));
  EXPECT_EQ(info->kind, http::CallerKind::kUser);
}

TEST_F(TokenTest, LeavesNothingOfItsSecretInTheStore) {
  const NewToken token = create(admin_);
  const std::string secret = parse_token(token.text.reveal())->secret.reveal();
  for (const char* suffix : {"", "-wal"}) {
    const auto bytes = read_file(store_.folder().file("slipway.db") + suffix);
    if (bytes) EXPECT_THAT(*bytes, testing::Not(HasSubstr(secret)));
  }
  EXPECT_GE(secret.size() * 5, 256U);
}

TEST_F(TokenTest, IsRefusedWithAnotherSecretAsIfItWereUnknown) {
  std::string text = create(admin_).text.reveal();
  text.back() = text.back() == 'a' ? 'b' : 'a';
  const auto wrong = verify(text);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kUnauthenticated);
  text[5] = text[5] == 'a' ? 'b' : 'a';
  EXPECT_EQ(verify(text).error().message, wrong.error().message);
}

TEST_F(TokenTest, HasOneShapeAndNoOther) {
  const std::string good = create(admin_).text.reveal();
  EXPECT_TRUE(parse_token(good));
  std::string upper = good;
  upper[20] = 'A';
  for (const std::string& bad : {std::string(), std::string("slw_"), good + "x", good.substr(1), good + " ",
                                 upper, good.substr(0, good.size() - 1), std::string(good.size(), '_')}) {
    const auto parsed = parse_token(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUnauthenticated);
    if (bad.size() > 5)
      EXPECT_THAT(parsed.error().message + parsed.error().next, testing::Not(HasSubstr(bad)));
  }
}

TEST_F(TokenTest, StopsWhenItExpiresAndSaysSo) {
  UserTokenOrder order = admin_;
  order.expires_at = Timestamp{clock_.now().micros + 1'000'000};
  const NewToken token = create(order);
  EXPECT_TRUE(verify(token.text.reveal()));
  clock_.advance(std::chrono::seconds(1));
  const auto late = verify(token.text.reveal());
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("expired at"));
  EXPECT_THAT(late.error().next, HasSubstr("slipway token create"));
}

TEST_F(TokenTest, StopsWhenItIsRevokedAndSaysSo) {
  const NewToken token = create(admin_);
  ASSERT_TRUE(revoke(token.id));
  const auto refused = verify(token.text.reveal());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("revoked"));
  const std::string message = refused.error().message;
  clock_.advance(std::chrono::hours(1));
  EXPECT_TRUE(revoke(token.id));
  EXPECT_EQ(verify(token.text.reveal()).error().message, message);
  EXPECT_EQ(revoke(TokenId("nonesuch")).error().code, ErrorCode::kNotFound);
}

TEST_F(TokenTest, OfAUserNeedsAWorkspaceUnlessItIsAnAdmins) {
  const auto refused = [&](const UserTokenOrder& order) {
    return !store_->write([&](store::Writer& writer) -> Status {
      SLIPWAY_ASSIGN(const NewToken token, create_user_token(writer, order, clock_.now()));
      return {};
    });
  };
  EXPECT_TRUE(refused({.name = "x", .role = Role::kOwner, .workspace = {}, .expires_at = {}}));
  EXPECT_TRUE(
      refused({.name = "x", .role = Role::kAdmin, .workspace = WorkspaceName("main"), .expires_at = {}}));
  EXPECT_TRUE(refused({.name = "a b", .role = Role::kAdmin, .workspace = {}, .expires_at = {}}));
  EXPECT_TRUE(refused({.name = "x", .role = Role::kAdmin, .workspace = {}, .expires_at = clock_.now()}));
}

TEST_F(TokenTest, ListsUsersTokensPageByPage) {
  for (int i = 0; i < 5; ++i) create(admin_);
  ASSERT_TRUE(store_->write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const NewToken node,
                   create_node_token(writer, NodeId("n"), WorkspaceName("main"), clock_.now()));
    return {};
  }));
  std::set<std::string> seen;
  std::string after;
  ASSERT_TRUE(store_->read([&](store::Reader& reader) -> Status {
    while (true) {
      SLIPWAY_ASSIGN(const std::vector<TokenInfo> page, list_tokens(reader, after, 2));
      if (page.empty()) return {};
      for (const TokenInfo& token : page) seen.insert(token.id.str());
      after = page.back().id.str();
    }
  }));
  EXPECT_EQ(seen.size(), 5U);
}

TEST_F(TokenTest, OfANodeDiesWhenTheNodesTokensAreRevoked) {
  NewToken token;
  ASSERT_TRUE(store_->write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(token, create_node_token(writer, NodeId("n-1"), WorkspaceName("main"), clock_.now()));
    return {};
  }));
  const auto info = verify(token.text.reveal());
  ASSERT_TRUE(info);
  EXPECT_EQ(info->kind, http::CallerKind::kNode);
  EXPECT_EQ(info->node, NodeId("n-1"));
  ASSERT_TRUE(store_->write(
      [&](store::Writer& writer) { return revoke_tokens_of_node(writer, NodeId("n-1"), clock_.now()); }));
  EXPECT_FALSE(verify(token.text.reveal()));
}

class FirstTokenTest : public TokenTest {
 protected:
  FirstTokenTest() : path_(store_.folder().file("token")) {}
  std::string ensure() {
    EXPECT_TRUE(ensure_first_token(store_.database(), path_, clock_));
    std::string text = *read_file(path_);
    text.pop_back();
    return text;
  }
  const std::string path_;
};

TEST_F(FirstTokenTest, IsAnAdminsAndForItsOwnerAlone) {
  const std::string text = ensure();
  EXPECT_EQ(verify(text)->role, Role::kAdmin);
  struct stat info{};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(FirstTokenTest, StaysAsLongAsItIsGood) {
  EXPECT_EQ(ensure(), ensure());
}

TEST_F(FirstTokenTest, IsReplacedAndRevokedWhenItsFileIsLost) {
  const std::string lost = ensure();
  std::filesystem::remove(path_);
  const std::string next = ensure();
  EXPECT_NE(lost, next);
  EXPECT_FALSE(verify(lost));
  EXPECT_TRUE(verify(next));
}

TEST_F(FirstTokenTest, IsReplacedWhenTheFileHoldsSomethingElse) {
  ASSERT_TRUE(replace_file(path_, "rubbish\n"));
  EXPECT_TRUE(verify(ensure()));
}

}  // namespace
}  // namespace slipway::access
