// What most routes read from a request and write into an answer.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "http/message.h"
#include "protocol/node.h"
#include "runs/run.h"
#include "store/idempotency.h"

namespace slipway::routes {

struct Services;

constexpr int64_t kDefaultPage = 100;
constexpr int64_t kLargestPage = 1000;

WorkspaceName workspace_of(const http::Request& request);  // of the path; the authoriser has looked at it
Result<json::object> body_of(const http::Request& request, std::string_view what);
// The Idempotency-Key with the digest of the body. kInvalidArgument for one that is too long or has odd
// characters.
Result<store::RequestKey> request_key(const http::Request& request, std::string scope);

// The run that the path names by its id, a unique beginning of it, or "latest".
Result<runs::Run> run_of(Services& services, const http::Request& request);
json::object describe(Services& services, const runs::Run& run);

// Of an agent's path.
NodeId node_of(const http::Request& request);
Result<AttemptKey> attempt_of(const http::Request& request);

// {"items": [...], "next_cursor": string or null}
http::Response page(json::array items, std::optional<std::string> next_cursor = std::nullopt);
// A page's cursor is the last position shown, as text that clients do not look into.
std::string encode_cursor(int64_t position);
Result<std::optional<int64_t>> cursor_of(const http::Request& request);
// Lists by name go on behind the last name shown.
Result<std::string> name_cursor_of(const http::Request& request);
Result<int64_t> limit_of(const http::Request& request);

// The position a stream goes on after: Last-Event-ID, else the query's `name`, else 0.
Result<int64_t> position_of(const http::Request& request, std::string_view name);

}  // namespace slipway::routes
