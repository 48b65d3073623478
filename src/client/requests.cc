#include "client/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/random.h"
#include "http/router.h"

namespace slipway::client {
namespace {

constexpr size_t kPageSize = 500;

bool may_pass(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kExhausted ||
         code == ErrorCode::kUnreachable || code == ErrorCode::kTimeout;
}

Result<json::object> object_of(std::string_view body) {
  if (body.empty()) return json::object();
  auto object = parse_json_object(body, "the answer");
  if (!object)
    return fail(ErrorCode::kInternal, "the answer is not one of a Slipway server",
                "check the address of the server");
  return object;
}

}  // namespace

std::chrono::milliseconds RetryPolicy::wait_after(int failures) const {
  return std::min(first_wait * (1 << std::clamp(failures, 0, 16)), longest_wait);
}

std::string to_text(const Query& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    text += fmt::format("{}{}={}", text.empty() ? '?' : '&', http::percent_encode(name),
                        http::percent_encode(value));
  }
  return text;
}

Requests::Requests(Connection connection, RetryPolicy policy)
    : connection_(std::move(connection)), policy_(policy), client_(connection_.http) {}

bool Requests::wait_to_repeat(const Error& error, int& failures) {
  // Nothing was sent, and nothing is there: waiting would only hide it.
  if (error.code == ErrorCode::kUnreachable && failures == 0) return false;
  // A time-out has already taken long; a second one is enough.
  const int weight = error.code == ErrorCode::kTimeout ? policy_.tries / 2 : 1;
  if (!may_pass(error.code) || failures + weight >= policy_.tries) return false;
  std::this_thread::sleep_for(policy_.wait_after(failures));
  failures += weight;
  if (error.code == ErrorCode::kUnreachable && connection_.look_again())
    client_ = http::Client(connection_.http);
  return true;
}

template <class Try>
auto Requests::repeat(const Try& attempt) -> decltype(attempt(0)) {
  int failures = 0;
  while (true) {
    auto result = attempt(failures);
    if (result) return result;
    if (!wait_to_repeat(result.error(), failures))
      return fail(connection_.explain(std::move(result).error()));
  }
}

Result<http::ClientResponse> Requests::send(const http::Call& call) {
  return repeat([&](int) { return client_.call(call); });
}

Result<http::ClientResponse> Requests::stream(http::Call call) {
  auto answer = client_.call(std::move(call));
  if (!answer) return fail(connection_.explain(std::move(answer).error()));
  return answer;
}

Result<json::object> Requests::call(http::Method method, const std::string& target,
                                    const json::object* body) {
  http::Call call;
  call.method = method;
  call.target = target;
  if (body != nullptr) call.body = json::serialize(*body);
  SLIPWAY_ASSIGN(const http::ClientResponse answer, send(call));
  return object_of(answer.body);
}

Result<json::object> Requests::create(const std::string& target, const json::object& body) {
  http::Call call;
  call.method = http::Method::kPost;
  call.target = target;
  call.headers.emplace("Idempotency-Key", random_base32(26));
  call.body = json::serialize(body);
  SLIPWAY_ASSIGN(const http::ClientResponse answer, send(call));
  return object_of(answer.body);
}

Status Requests::remove(const std::string& target) {
  http::Call call;
  call.method = http::Method::kDelete;
  call.target = target;
  SLIPWAY_TRY(repeat([&](int failures) -> Status {
    const auto answer = client_.call(call);
    if (answer || (failures > 0 && answer.error().code == ErrorCode::kNotFound)) return {};
    return fail(answer.error());
  }));
  return {};
}

Result<Page> Requests::page(const std::string& path, const Query& query) {
  SLIPWAY_ASSIGN(json::object answer, get(path + to_text(query)));
  Page page;
  JsonFields fields(answer, "the list");
  fields.required("items", page.items);
  fields.optional("next_cursor", page.next_cursor);
  SLIPWAY_TRY(fields.finish_lenient());
  return page;
}

Result<json::array> Requests::list(const std::string& path, Query query, size_t limit) {
  json::array items;
  while (true) {
    const size_t wanted = limit == 0 ? kPageSize : std::min(kPageSize, limit - items.size());
    query["limit"] = std::to_string(wanted);
    SLIPWAY_ASSIGN(Page next, page(path, query));
    for (json::value& item : next.items) {
      if (limit != 0 && items.size() == limit) break;
      items.push_back(std::move(item));
    }
    if (next.next_cursor.empty() || (limit != 0 && items.size() >= limit)) return items;
    // A cursor that does not move would keep us here for ever.
    if (next.items.empty() || next.next_cursor == query["cursor"])
      return fail(ErrorCode::kInternal, fmt::format("the list {} does not come to its end", path));
    query["cursor"] = next.next_cursor;
    query.erase("after");  // where the first page began
  }
}

}  // namespace slipway::client
