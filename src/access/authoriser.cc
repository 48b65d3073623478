#include "access/authoriser.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway::access {
namespace {

using http::Access;
using http::Caller;
using http::CallerKind;

const std::string* find(const std::map<std::string, std::string>& params, const char* name) {
  const auto found = params.find(name);
  return found == params.end() ? nullptr : &found->second;
}

// Names from the path are shown in messages: cut, since they come from anybody.
std::unexpected<Error> no_such(std::string_view what, const std::string& name) {
  return fail(ErrorCode::kNotFound, fmt::format("there is no {} '{}'", what, name.substr(0, 64)),
              fmt::format("look at the name, or ask an admin for a token that may see the {}", what));
}

Role needed_role(Access needed) {
  switch (needed) {
    case Access::kPublic:
    case Access::kReader: return Role::kReader;
    case Access::kContributor:
    case Access::kRun: return Role::kContributor;
    case Access::kOwner: return Role::kOwner;
    case Access::kAdmin:
    case Access::kNode: break;
  }
  return Role::kAdmin;
}

Access as_access(Role role) {
  switch (role) {
    case Role::kReader: return Access::kReader;
    case Role::kContributor: return Access::kContributor;
    case Role::kOwner: return Access::kOwner;
    case Role::kAdmin: break;
  }
  return Access::kAdmin;
}

Caller caller_of(const TokenInfo& token) {
  Caller caller;
  caller.kind = token.kind;
  caller.name = token.name;
  caller.admin = token.kind == CallerKind::kUser && token.role == Role::kAdmin;
  caller.workspace = token.workspace;
  if (token.kind == CallerKind::kUser) caller.role = as_access(token.role);
  caller.node = token.node;
  caller.run = token.run;
  caller.attempt = token.attempt;
  return caller;
}

Result<Caller> decide_user(const TokenInfo& token, Access needed) {
  if (needed == Access::kNode)
    return fail(ErrorCode::kPermissionDenied, "only the agent of that node may do this");
  if (token.role < needed_role(needed))
    return fail(ErrorCode::kPermissionDenied,
                fmt::format("this needs the role {}; the token '{}' has the role {}",
                            to_text(needed_role(needed)), token.name, to_text(token.role)),
                "ask an admin for a token with that role (slipway token create)");
  return caller_of(token);
}

Result<Caller> decide_node(const TokenInfo& token, Access needed, const std::string* node) {
  if (needed != Access::kNode)
    return fail(ErrorCode::kPermissionDenied, "a node's token serves its own node only");
  if (node == nullptr || *node != token.node.str()) return no_such("node", node == nullptr ? "" : *node);
  return caller_of(token);
}

Result<Caller> decide_run(const TokenInfo& token, Access needed, const std::string* run) {
  if (run != nullptr && *run != token.run.str()) return no_such("run", *run);
  const bool allowed = needed == Access::kRun || (needed == Access::kReader && run != nullptr);
  if (!allowed)
    return fail(ErrorCode::kPermissionDenied,
                fmt::format("the token of run {} serves that run only", token.run),
                "use a token of your own for this");
  return caller_of(token);
}

// The scheme's name is the same in any case (RFC 9110).
std::optional<std::string_view> bearer(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (header.size() < kScheme.size()) return std::nullopt;
  const bool same =
      std::ranges::equal(header.substr(0, kScheme.size()), kScheme, [](char given, char wanted) {
        return (given >= 'A' && given <= 'Z' ? static_cast<char>(given - 'A' + 'a') : given) == wanted;
      });
  if (!same) return std::nullopt;
  header.remove_prefix(kScheme.size());
  while (header.starts_with(' ')) header.remove_prefix(1);
  while (header.ends_with(' ')) header.remove_suffix(1);
  return header;
}

// Whether `run` is a child of `ancestor`, or a child of one, and so on.
Result<bool> is_below(store::Reader& reader, const std::string& run, const RunId& ancestor) {
  bool below = false;
  SLIPWAY_TRY(
      reader.query("WITH RECURSIVE above (id) AS (SELECT parent FROM runs WHERE id = ? UNION ALL "
                   "SELECT r.parent FROM runs r JOIN above ON r.id = above.id) "
                   "SELECT 1 FROM above WHERE id = ?",
                   {run, ancestor}, [&](const store::Row&) { below = true; }));
  return below;
}

}  // namespace

Result<Caller> decide(const TokenInfo& token, Access needed,
                      const std::map<std::string, std::string>& params) {
  // Before all else: a workspace that the bearer is no member of does not exist for it.
  const std::string* workspace = find(params, "workspace");
  const bool everywhere = token.kind == CallerKind::kUser && token.role == Role::kAdmin;
  if (workspace != nullptr && !everywhere && (!token.workspace || token.workspace->str() != *workspace))
    return no_such("workspace", *workspace);
  switch (token.kind) {
    case CallerKind::kUser: return decide_user(token, needed);
    case CallerKind::kNode: return decide_node(token, needed, find(params, "node"));
    case CallerKind::kRun: return decide_run(token, needed, find(params, "run"));
    case CallerKind::kAnonymous: break;
  }
  return fail(ErrorCode::kUnauthenticated, "this needs a token");
}

Result<Caller> TokenAuthoriser::authorise(const http::Request& request, Access needed) {
  if (needed == Access::kPublic) return Caller{};
  const auto header = request.headers.find("authorization");
  const auto text = header == request.headers.end() ? std::nullopt : bearer(header->second);
  if (!text)
    return fail(ErrorCode::kUnauthenticated, "this needs a token",
                "set SLIPWAY_TOKEN, or send the header 'Authorization: Bearer slw_...'");
  SLIPWAY_ASSIGN(const ParsedToken token, parse_token(*text));
  std::optional<TokenInfo> info;
  std::map<std::string, std::string> params = request.params;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(info, verify_token(reader, token, clock_.now()));
    const auto run = params.find("run");
    if (info->kind != CallerKind::kRun || run == params.end() || run->second == info->run.str()) return {};
    SLIPWAY_ASSIGN(const bool own, is_below(reader, run->second, info->run));
    if (own) run->second = info->run.str();
    return {};
  }));
  return decide(*info, needed, params);
}

Result<Caller> NoAuthoriser::authorise(const http::Request& request, Access needed) {
  Caller caller;
  if (needed == Access::kPublic) return caller;
  caller.kind = CallerKind::kUser;
  caller.name = "anonymous";
  caller.admin = true;
  caller.role = Access::kAdmin;
  if (needed == Access::kNode) {
    caller.kind = CallerKind::kNode;
    if (const std::string* node = find(request.params, "node")) caller.node = NodeId(*node);
  }
  return caller;
}

}  // namespace slipway::access
