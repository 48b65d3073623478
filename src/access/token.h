// Tokens: `slw_<id>_<secret>`. The id finds the row; of the secret, 256 bits from the kernel, only the
// SHA-256 is stored, so that a copy of the store opens nothing.
//
// A run's token is good only while the part of the attempt that holds it (attempt_nodes.token_id) is neither
// fenced nor finished: it dies in the transaction that ends the attempt, without anybody having to revoke it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/secret.h"
#include "http/access.h"
#include "store/database.h"

namespace slipway::access {

enum class Role { kReader, kContributor, kOwner, kAdmin };

std::string_view to_text(Role role);
Result<Role> parse_role(std::string_view text);

struct ParsedToken {
  TokenId id;
  Secret secret;
};

// kUnauthenticated for anything that does not have the shape of a token; the text is never repeated.
Result<ParsedToken> parse_token(std::string_view text);

struct NewToken {
  TokenId id;
  Secret text;  // shown once
};

struct UserTokenOrder {
  std::string name;  // 1 to 64 characters; for lists and for a run's `submitted_by`
  Role role = Role::kReader;
  std::optional<WorkspaceName> workspace;  // needed for every role but admin, which has none
  std::optional<Timestamp> expires_at;
};

Result<NewToken> create_user_token(store::Writer& writer, const UserTokenOrder& order, Timestamp now);
Result<NewToken> create_node_token(store::Writer& writer, const NodeId& node, const WorkspaceName& workspace,
                                   Timestamp now);
// The caller stores the id in attempt_nodes.token_id within the same transaction; the token is dead without
// it.
Result<NewToken> create_run_token(store::Writer& writer, const RunId& run, int attempt,
                                  const WorkspaceName& workspace, Timestamp now);

// A token without its secret.
struct TokenInfo {
  TokenId id;
  http::CallerKind kind = http::CallerKind::kUser;
  std::string name;
  Role role = Role::kReader;  // kUser
  std::optional<WorkspaceName> workspace;
  NodeId node;      // kNode
  RunId run;        // kRun
  int attempt = 0;  // kRun
  Timestamp created_at;
  std::optional<Timestamp> expires_at;
  std::optional<Timestamp> revoked_at;
};

// Users' tokens by id, those behind `after`; "" for the first ones. Revoked ones are listed as such.
Result<std::vector<TokenInfo>> list_tokens(store::Reader& reader, std::string_view after, int64_t limit);

// At once, for every request that comes later. Again: nothing changes. kNotFound for an unknown id.
Status revoke_token(store::Writer& writer, const TokenId& id, Timestamp now);
Status revoke_tokens_of_node(store::Writer& writer, const NodeId& node, Timestamp now);
// Removes the rows of a run's tokens, when the run itself is deleted.
Status delete_tokens_of_run(store::Writer& writer, const RunId& run);

// Makes sure that the 0600 file at `path` holds a good admin token: makes one when the file is missing or its
// token is no longer good, and revokes the one it takes the place of.
Status ensure_first_token(store::Database& database, const std::string& path, const Clock& clock);

// The token's row, once its secret has been compared in constant time and it is neither revoked nor expired;
// for a run's token, once its attempt is alive. kUnauthenticated otherwise, with what to do.
Result<TokenInfo> verify_token(store::Reader& reader, const ParsedToken& token, Timestamp now);

}  // namespace slipway::access
