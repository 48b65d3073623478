// Who may do what, as tokens say.
//
// Decided for each request from the store itself, without a cache in between: a token that was revoked, has
// expired or whose run has ended is refused from the next request on. The look-up costs some ten
// microseconds.
#pragma once

#include <map>
#include <string>

#include "access/token.h"
#include "base/clock.h"
#include "http/access.h"
#include "http/message.h"
#include "store/database.h"

namespace slipway::access {

// The rule by itself: may the bearer of `token` use a route that needs `needed` with these path parameters?
//   user  a role of at least `needed` in the path's workspace; kRun takes contributors; never kNode
//   node  kNode routes of its own {node}
//   run   kRun routes of its own {run}, or without {run} in its workspace; kReader routes of its own {run}
//         (runs below it count as its own: the authoriser puts its own in their place)
// What the bearer may not know of is kNotFound, what it may see and not do is kPermissionDenied.
Result<http::Caller> decide(const TokenInfo& token, http::Access needed,
                            const std::map<std::string, std::string>& params);

class TokenAuthoriser final : public http::Authoriser {
 public:
  // Both outlive it.
  TokenAuthoriser(store::Database& database, const Clock& clock) : database_(database), clock_(clock) {}
  Result<http::Caller> authorise(const http::Request& request, http::Access needed) override;

 private:
  store::Database& database_;
  const Clock& clock_;
};

// For `--auth none`, on loopback only: everybody is an admin, and an agent is the node it says it is.
class NoAuthoriser final : public http::Authoriser {
 public:
  Result<http::Caller> authorise(const http::Request& request, http::Access needed) override;
};

}  // namespace slipway::access
