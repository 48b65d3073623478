#include "serving/protocols/raw_call.h"

#include <fmt/format.h>

#include <memory>

namespace slipway::serving {
namespace {

RawRequest raw_of(const http::Request& request) {
  RawRequest raw;
  raw.method = http::to_text(request.method);
  raw.target = request.path;
  for (const auto& [name, value] : request.query)
    raw.target += fmt::format("{}{}={}", raw.target.contains('?') ? '&' : '?', http::percent_encode(name),
                              http::percent_encode(value));
  for (const auto& [name, value] : request.headers)
    if (name != "authorization")
      raw.headers.emplace_back(name, value);  // the key is the service's, not the script's
  raw.body = request.body;
  return raw;
}

http::Response response_of(RawAnswer answer, double milliseconds) {
  http::Response response;
  response.status = answer.status;
  response.content_type = std::move(answer.content_type);
  for (auto& [name, value] : answer.headers) response.headers[name] = std::move(value);
  response.headers["x-ms-run-fn-exec-ms"] = fmt::format("{:.3f}", milliseconds);
  response.body = std::move(answer.body);
  return response;
}

}  // namespace

void call_raw(ServedModel& served, http::Response (*refuse)(const Error&), http::Request& request,
              http::Answer answer) {
  Statistics& statistics = served.statistics;
  statistics.in_flight.fetch_add(1, std::memory_order_relaxed);
  const Monotonic arrived = std::chrono::steady_clock::now();
  // shared_ptr: by the two ends of a call of which one happens, the work and the refusal.
  const auto finish = std::make_shared<std::move_only_function<void(http::Response)>>(
      [&statistics, arrived, answer = std::move(answer)](http::Response response) mutable {
        const auto took = std::chrono::steady_clock::now() - arrived;
        ++(response.status < 500 ? statistics.succeeded : statistics.failed);
        statistics.latency.add(took);
        statistics.request_nanoseconds.fetch_add(
            static_cast<uint64_t>(std::chrono::nanoseconds(took).count()));
        statistics.in_flight.fetch_sub(1, std::memory_order_relaxed);
        answer(std::move(response));
      });
  const bool taken = served.batcher.submit_work([&served, &request, refuse, arrived, finish] {
    const Monotonic start = std::chrono::steady_clock::now();
    if (arrived + served.timeout < start)
      return (*finish)(refuse({.code = ErrorCode::kTimeout,
                               .message = "the request waited longer for the service than it may",
                               .next = "try again when there is less load",
                               .detail = ""}));
    auto result = served.model.invoke(raw_of(request), arrived + served.timeout);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    served.statistics.runs.fetch_add(1, std::memory_order_relaxed);
    served.statistics.rows.fetch_add(1, std::memory_order_relaxed);
    if (!result) return (*finish)(refuse(result.error()));
    (*finish)(response_of(std::move(*result), took.count()));
  });
  if (!taken) (*finish)(refuse(Batcher::refusal()));
}

}  // namespace slipway::serving
