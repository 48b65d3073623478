// Who may call a route. The Access of a route is a mandatory field of the route table: a route without one
// does not compile.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace slipway::http {

enum class Access {
  kPublic,       // health only
  kReader,       // reads in the workspace of the path
  kContributor,  // submits and changes runs there
  kOwner,        // changes the workspace itself: clusters, tokens, deletion
  kAdmin,        // the whole installation
  kNode,         // an agent, for its own node
  kRun,          // a job, for its own run; contributors of the workspace too
};

std::string_view to_text(Access access);  // "reader"

enum class CallerKind { kAnonymous, kUser, kNode, kRun };

// Who sent a request, as its token says.
struct Caller {
  CallerKind kind = CallerKind::kAnonymous;
  std::string name;  // for the record: the token's name
  bool admin = false;
  std::optional<WorkspaceName> workspace;  // nullopt: all of them
  Access role = Access::kPublic;           // kReader, kContributor or kOwner for users
  NodeId node;                             // kNode
  RunId run;                               // kRun
  int attempt = 0;                         // kRun
};

struct Request;

// Decides from the Authorization header and the path's parameters. Thread-safe; may read the store.
class Authoriser {
 public:
  virtual ~Authoriser() = default;
  // kUnauthenticated without a good token, kPermissionDenied for a lower role in a workspace the caller may
  // see, kNotFound for one it may not.
  virtual Result<Caller> authorise(const Request& request, Access needed) = 0;
};

}  // namespace slipway::http
