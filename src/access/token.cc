#include "access/token.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>

#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/random.h"

namespace slipway::access {
namespace {

constexpr std::string_view kPrefix = "slw_";
constexpr size_t kIdLength = 12;
constexpr size_t kSecretLength = 52;  // of 5 bits: 260
constexpr std::string_view kFirstTokenName = "first-admin";

bool is_base32(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z' && c != 'i' && c != 'l' && c != 'o' && c != 'u');
  });
}

std::string hash_of(const Secret& secret) {
  return Digest::of(secret.reveal()).hex();
}

bool same(std::string_view stored, std::string_view given) {
  return stored.size() == given.size() && CRYPTO_memcmp(stored.data(), given.data(), given.size()) == 0;
}

std::string_view kind_text(http::CallerKind kind) {
  switch (kind) {
    case http::CallerKind::kNode: return "node";
    case http::CallerKind::kRun: return "run";
    case http::CallerKind::kUser:
    case http::CallerKind::kAnonymous: break;
  }
  return "user";
}

Result<NewToken> insert(store::Writer& writer, const TokenInfo& info) {
  NewToken token;
  token.id = TokenId(random_base32(kIdLength));
  const Secret secret(random_base32(kSecretLength));
  token.text = Secret(fmt::format("{}{}_{}", kPrefix, token.id, secret.reveal()));
  const bool user = info.kind == http::CallerKind::kUser;
  SLIPWAY_TRY(
      writer.run("INSERT INTO tokens (id, kind, hash, name, role, workspace, node, run, attempt, created_at, "
                 "expires_at) "
                 "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                 {token.id, kind_text(info.kind), hash_of(secret), info.name,
                  user ? to_text(info.role) : kind_text(info.kind), info.workspace,
                  info.node.empty() ? store::Value(nullptr) : store::Value(info.node),
                  info.run.empty() ? store::Value(nullptr) : store::Value(info.run), info.attempt,
                  info.created_at, info.expires_at}));
  return token;
}

constexpr std::string_view kColumns =
    "id, kind, name, role, workspace, node, run, attempt, created_at, expires_at, revoked_at, hash";

TokenInfo from_row(const store::Row& row) {
  TokenInfo info;
  info.id = row.id<TokenId>(0);
  if (row.text(1) == "node") info.kind = http::CallerKind::kNode;
  if (row.text(1) == "run") info.kind = http::CallerKind::kRun;
  info.name = row.text(2);
  info.role = parse_role(row.text(3)).value_or(Role::kReader);
  if (!row.is_null(4)) info.workspace = row.id<WorkspaceName>(4);
  info.node = row.id<NodeId>(5);
  info.run = row.id<RunId>(6);
  info.attempt = static_cast<int>(row.integer(7));
  info.created_at = row.time(8);
  if (!row.is_null(9)) info.expires_at = row.time(9);
  if (!row.is_null(10)) info.revoked_at = row.time(10);
  return info;
}

Result<bool> attempt_is_alive(store::Reader& reader, const TokenInfo& token) {
  bool alive = false;
  SLIPWAY_TRY(reader.query("SELECT state FROM attempt_nodes WHERE run = ? AND attempt = ? AND token_id = ?",
                           {token.run, token.attempt, token.id}, [&](const store::Row& row) {
                             alive = row.text(0) != "fenced" && row.text(0) != "finished";
                           }));
  return alive;
}

bool is_good_admin(store::Reader& reader, const std::string& text, Timestamp now) {
  const auto parsed = parse_token(text);
  if (!parsed) return false;
  const auto info = verify_token(reader, *parsed, now);
  return info && info->kind == http::CallerKind::kUser && info->role == Role::kAdmin;
}

}  // namespace

std::string_view to_text(Role role) {
  switch (role) {
    case Role::kReader: return "reader";
    case Role::kContributor: return "contributor";
    case Role::kOwner: return "owner";
    case Role::kAdmin: return "admin";
  }
  return "reader";
}

Result<Role> parse_role(std::string_view text) {
  for (const Role role : {Role::kReader, Role::kContributor, Role::kOwner, Role::kAdmin})
    if (text == to_text(role)) return role;
  return fail(ErrorCode::kInvalidArgument, "that is not a role", "use reader, contributor, owner or admin");
}

Result<ParsedToken> parse_token(std::string_view text) {
  const auto bad = [] {
    return fail(ErrorCode::kUnauthenticated, "that is not a Slipway token",
                "a token begins with 'slw_'; `slipway up` says where the first one is kept");
  };
  if (text.size() != kPrefix.size() + kIdLength + 1 + kSecretLength || !text.starts_with(kPrefix))
    return bad();
  const std::string_view id = text.substr(kPrefix.size(), kIdLength);
  const std::string_view secret = text.substr(kPrefix.size() + kIdLength + 1);
  if (text[kPrefix.size() + kIdLength] != '_' || !is_base32(id) || !is_base32(secret)) return bad();
  return ParsedToken{TokenId(std::string(id)), Secret(std::string(secret))};
}

Result<NewToken> create_user_token(store::Writer& writer, const UserTokenOrder& order, Timestamp now) {
  SLIPWAY_TRY(check_name(order.name, "token"));
  if (order.role == Role::kAdmin && order.workspace)
    return fail(ErrorCode::kInvalidArgument, "an admin's token is for all workspaces",
                "leave the workspace out, or choose the role owner");
  if (order.role != Role::kAdmin && !order.workspace)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a token with the role {} needs a workspace", to_text(order.role)), "name one");
  if (order.expires_at && *order.expires_at <= now)
    return fail(ErrorCode::kInvalidArgument, "the token would expire at once", "choose a later time");
  TokenInfo info;
  info.name = order.name;
  info.role = order.role;
  info.workspace = order.workspace;
  info.created_at = now;
  info.expires_at = order.expires_at;
  return insert(writer, info);
}

Result<NewToken> create_node_token(store::Writer& writer, const NodeId& node, const WorkspaceName& workspace,
                                   Timestamp now) {
  TokenInfo info;
  info.kind = http::CallerKind::kNode;
  info.name = node.str();
  info.workspace = workspace;
  info.node = node;
  info.created_at = now;
  return insert(writer, info);
}

Result<NewToken> create_run_token(store::Writer& writer, const RunId& run, int attempt,
                                  const WorkspaceName& workspace, Timestamp now) {
  TokenInfo info;
  info.kind = http::CallerKind::kRun;
  info.name = run.str();
  info.workspace = workspace;
  info.run = run;
  info.attempt = attempt;
  info.created_at = now;
  return insert(writer, info);
}

Result<std::vector<TokenInfo>> list_tokens(store::Reader& reader, std::string_view after, int64_t limit) {
  std::vector<TokenInfo> found;
  static const std::string sql =
      fmt::format("SELECT {} FROM tokens WHERE kind = 'user' AND id > ? ORDER BY id LIMIT ?", kColumns);
  SLIPWAY_TRY(
      reader.query(sql, {after, limit}, [&](const store::Row& row) { found.push_back(from_row(row)); }));
  return found;
}

Status revoke_token(store::Writer& writer, const TokenId& id, Timestamp now) {
  SLIPWAY_ASSIGN(
      const int64_t changed,
      writer.execute("UPDATE tokens SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ?", {now, id}));
  if (changed == 0)
    return fail(ErrorCode::kNotFound, fmt::format("there is no token {}", id),
                "`slipway token list` shows what there is");
  return {};
}

Status revoke_tokens_of_node(store::Writer& writer, const NodeId& node, Timestamp now) {
  return writer.run("UPDATE tokens SET revoked_at = ? WHERE node = ? AND revoked_at IS NULL", {now, node});
}

Status delete_tokens_of_run(store::Writer& writer, const RunId& run) {
  return writer.run("DELETE FROM tokens WHERE run = ?", {run});
}

Result<TokenInfo> verify_token(store::Reader& reader, const ParsedToken& token, Timestamp now) {
  static const std::string sql = fmt::format("SELECT {} FROM tokens WHERE id = ?", kColumns);
  std::optional<TokenInfo> info;
  bool matches = false;
  SLIPWAY_TRY(reader.query(sql, {token.id}, [&](const store::Row& row) {
    info = from_row(row);
    matches = same(row.text(11), hash_of(token.secret));
  }));
  // An unknown id and a wrong secret are told apart by nobody.
  if (!info || !matches)
    return fail(ErrorCode::kUnauthenticated, "this token is not known here",
                "it may belong to another server; ask an admin for a new one (slipway token create)");
  if (info->revoked_at)
    return fail(ErrorCode::kUnauthenticated,
                fmt::format("the token '{}' was revoked at {}", info->name, to_iso8601(*info->revoked_at)),
                "ask an admin for a new one (slipway token create)");
  if (info->expires_at && *info->expires_at <= now)
    return fail(ErrorCode::kUnauthenticated,
                fmt::format("the token '{}' expired at {}", info->name, to_iso8601(*info->expires_at)),
                "ask an admin for a new one (slipway token create)");
  if (info->kind == http::CallerKind::kRun) {
    SLIPWAY_ASSIGN(const bool alive, attempt_is_alive(reader, *info));
    if (!alive)
      return fail(ErrorCode::kUnauthenticated,
                  fmt::format("the token of run {} ended with its attempt {}", info->run, info->attempt));
  }
  return *info;
}

Status ensure_first_token(store::Database& database, const std::string& path, const Clock& clock) {
  const Timestamp now = clock.now();
  if (auto text = read_file(path, 4096)) {
    while (!text->empty() && text->back() == '\n') text->pop_back();
    bool good = false;
    SLIPWAY_TRY(database.read([&](store::Reader& reader) -> Status {
      good = is_good_admin(reader, *text, now);
      return {};
    }));
    if (good) return {};
  }
  // First the store, then the file: a crash between the two leaves a token nobody has seen, revoked the next
  // time.
  NewToken token;
  SLIPWAY_TRY(database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_TRY(writer.run("UPDATE tokens SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL",
                           {now, kFirstTokenName}));
    const UserTokenOrder order{.name = std::string(kFirstTokenName),
                               .role = Role::kAdmin,
                               .workspace = std::nullopt,
                               .expires_at = std::nullopt};
    SLIPWAY_ASSIGN(token, create_user_token(writer, order, now));
    return {};
  }));
  SLIPWAY_TRY(replace_file(path, token.text.reveal() + "\n", 0600));
  log_info("token.first_created", {{"token", token.id}, {"path", path}});
  return {};
}

}  // namespace slipway::access
