// What a run leaves: logs, metrics, resource samples, files.
#include <fmt/format.h>

#include "routes/request.h"
#include "routes/services.h"
#include "runs/metric_json.h"
#include "runs/run_files.h"
#include "runs/run_table.h"
#include "runs/streams.h"
#include "runs/transitions.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::Method;
using http::Request;
using http::Response;
using runs::Run;

constexpr int64_t kMostPointsAtOnce = 10'000;
constexpr size_t kMostFilesAtOnce = 5000;
constexpr std::string_view kStandardLog = "std_log.txt";

// Which log the query means: the standard one of the present attempt's first node unless it says otherwise.
struct WantedLog {
  AttemptKey attempt;
  std::string name;
};

Result<WantedLog> wanted_log(const Request& request, const Run& run) {
  WantedLog log{.attempt = {.run = run.id},
                .name = request.query_value("name").value_or(std::string(kStandardLog))};
  SLIPWAY_ASSIGN(const int64_t attempt, request.query_int("attempt", std::max(run.attempt, 1), 1, 1'000'000));
  SLIPWAY_ASSIGN(const int64_t rank, request.query_int("rank", 0, 0, 1'000'000));
  log.attempt.attempt = static_cast<int>(attempt);
  log.attempt.rank = static_cast<int>(rank);
  // Of several processes each has a log of its own: the standard one of a node is its first process's.
  if (log.name == kStandardLog && process_count(run.job) > 1)
    log.name = rank_log(first_rank_of_node(run.job, log.attempt.rank));
  return log;
}

// A page of things that have a position.
template <class Item>
Response position_page(const std::vector<Item>& found, int64_t limit) {
  json::array items;
  for (const Item& item : found) items.push_back(runs::to_json(item));
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) == limit) next = encode_cursor(found.back().position);
  return page(std::move(items), next);
}

Result<Response> logs(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const auto found, services.logs.list(run.id));
  json::array items;
  for (const runs::LogInfo& log : found)
    items.push_back(
        json::object{{"name", log.name}, {"attempt", log.attempt}, {"rank", log.rank}, {"size", log.size}});
  return page(std::move(items));
}

// One channel of an interleaved log, gathered. Bounded: a longer one is read whole and cut apart by the
// client.
Result<Response> one_channel(Services& services, const WantedLog& log, const std::string& channel, int fd,
                             uint64_t size) {
  constexpr uint64_t kLargest = 64 << 20;
  if (channel != "stdout" && channel != "stderr")
    return fail(ErrorCode::kInvalidArgument, "a channel is stdout or stderr");
  const auto wanted = channel == "stdout" ? journal::Channel::kStdout : journal::Channel::kStderr;
  SLIPWAY_ASSIGN(const auto stretches, services.logs.stretches(log.attempt, log.name, 0, size));
  std::string bytes;
  for (const runs::LogStretch& stretch : stretches) {
    if (stretch.channel != wanted) continue;
    if (bytes.size() + stretch.length > kLargest)
      return fail(ErrorCode::kTooLarge, fmt::format("{} has more than {} MiB", channel, kLargest >> 20),
                  "read the whole log in ranges instead");
    const size_t at = bytes.size();
    bytes.resize(at + stretch.length);
    if (::pread(fd, bytes.data() + at, stretch.length, static_cast<off_t>(stretch.offset)) !=
        static_cast<ssize_t>(stretch.length))
      return fail(errno_error(errno, "read a log"));
  }
  Response response;
  response.content_type = "application/octet-stream";
  response.body = std::move(bytes);
  return response;
}

// From an offset to the end, which may be nothing yet: for clients that come again for more.
Result<Response> log_rest(const Request& request, UniqueFd fd, uint64_t size) {
  SLIPWAY_ASSIGN(const int64_t wanted, request.query_int("offset", 0, 0, INT64_MAX));
  const uint64_t offset = std::min(static_cast<uint64_t>(wanted), size);
  Response response;
  response.content_type = "application/octet-stream";
  response.headers["x-slipway-offset"] = std::to_string(size);
  response.body = std::make_shared<http::FileBody>(
      http::FileBody{.fd = std::move(fd), .offset = offset, .length = size - offset});
  return response;
}

Result<Response> log_content(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const WantedLog log, wanted_log(request, run));
  uint64_t size = 0;
  SLIPWAY_ASSIGN(UniqueFd fd, services.logs.open(log.attempt, log.name, &size));
  if (const auto channel = request.query_value("channel"))
    return one_channel(services, log, *channel, fd.get(), size);
  if (request.query_value("offset")) return log_rest(request, std::move(fd), size);
  return http::file_response(request, std::move(fd), size, "application/octet-stream", "");
}

Result<Response> log_stream(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(WantedLog log, wanted_log(request, run));
  SLIPWAY_ASSIGN(const int64_t offset, position_of(request, "offset"));
  return http::event_response(runs::log_stream(services.database, services.logs, log.attempt,
                                               std::move(log.name), static_cast<uint64_t>(offset)));
}

Result<Response> metric_names(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const int64_t limit, request.query_int("limit", kLargestPage, 1, kLargestPage));
  const std::string after = request.query_value("cursor").value_or("");
  SLIPWAY_ASSIGN(const auto found, services.metrics.summaries(run.id, after, limit));
  json::array items;
  for (const metrics::Summary& summary : found) items.push_back(runs::to_json(summary));
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) == limit) next = found.back().name;
  return page(std::move(items), next);
}

Result<Response> metric_points(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  const auto name = request.query_value("name");
  SLIPWAY_ASSIGN(const int64_t limit, request.query_int("limit", 1000, 1, kMostPointsAtOnce));
  SLIPWAY_ASSIGN(const auto cursor, cursor_of(request));
  SLIPWAY_ASSIGN(const int64_t first, request.query_int("after", 0, 0, INT64_MAX));
  const int64_t after = cursor.value_or(first);  // a later page goes on from its cursor
  SLIPWAY_ASSIGN(const auto found, name ? services.metrics.points(run.id, *name, after, limit)
                                        : services.metrics.points_after(run.id, after, limit));
  return position_page(found, limit);
}

Result<Response> metric_stream(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const int64_t after, position_of(request, "after"));
  return http::event_response(runs::metric_stream(services.database, services.metrics, run.id, after));
}

Result<Response> metric_values(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  const std::string name = request.query_value("name").value_or("");
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const auto cursor, cursor_of(request));
  SLIPWAY_ASSIGN(const int64_t first, request.query_int("after", 0, 0, INT64_MAX));
  SLIPWAY_ASSIGN(const auto found, services.metrics.values(run.id, name, cursor.value_or(first), limit));
  return position_page(found, limit);
}

Result<Response> log_metrics(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the points"));
  SLIPWAY_ASSIGN(const auto batch, runs::metric_batch_from_json(body, services.clock.now()));
  bool stored = false;
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(stored, runs::store_metric_batch(writer, services.metrics, run.id, batch));
    if (stored)
      writer.after_commit(
          [&services, topic = runs::run_topic(run.id)] { services.orchestrator.notify(topic); });
    return {};
  }));
  return http::json_response(json::object{{"stored", stored}});
}

Result<Response> resources(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const auto cursor, cursor_of(request));
  SLIPWAY_ASSIGN(const auto found, services.metrics.samples(run.id, cursor.value_or(0), limit));
  return position_page(found, limit);
}

// Files by path; a page goes on behind the last path of the one before.
Result<Response> files(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  const std::string prefix = request.query_value("prefix").value_or("");
  const std::string after = request.query_value("cursor").value_or("");
  json::array items;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) {
    return reader.query(
        "SELECT path, size, digest, mode FROM run_files WHERE run = ? AND path > ? AND path >= ? AND path < "
        "? "
        "ORDER BY path LIMIT ?",
        {run.id, after, prefix, prefix + "\xf4\x8f\xbf\xbf", limit}, [&](const store::Row& row) {
          items.push_back(json::object{{"path", row.text(0)},
                                       {"size", row.integer(1)},
                                       {"digest", row.text(2)},
                                       {"mode", row.integer(3)}});
        });
  }));
  std::optional<std::string> next;
  if (static_cast<int64_t>(items.size()) == limit) next = std::string(items.back().at("path").as_string());
  return page(std::move(items), next);
}

Result<Response> add_files(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the files"));
  json::array items;
  bool replace = false;
  JsonFields fields(body, "the files");
  fields.required("files", items);
  fields.optional("replace", replace);
  SLIPWAY_TRY(fields.finish());
  if (items.size() > kMostFilesAtOnce)
    return fail(ErrorCode::kTooLarge, fmt::format("at most {} files at once", kMostFilesAtOnce),
                "send several requests");
  std::vector<OutputFile> files;
  for (const json::value& item : items) {
    if (!item.is_object()) return fail(ErrorCode::kInvalidArgument, "a file is an object");
    SLIPWAY_ASSIGN(OutputFile file, output_file_from_json(item.get_object()));
    files.push_back(std::move(file));
  }
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) {
    return runs::add_run_files(writer, services.blobs, run, files, replace);
  }));
  return http::json_response(json::object{});
}

Result<Response> file_content(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  const auto path = request.query_value("path");
  if (!path) return fail(ErrorCode::kInvalidArgument, "say which file: ?path=outputs/model.bin");
  std::optional<std::string> hex;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) {
    return reader.query("SELECT digest FROM run_files WHERE run = ? AND path = ?", {run.id, *path},
                        [&](const store::Row& row) { hex = row.text(0); });
  }));
  if (!hex)
    return fail(ErrorCode::kNotFound, fmt::format("{} has no file '{}'", run.id, path->substr(0, 128)),
                fmt::format("slipway run files {} shows what it has", run.id));
  SLIPWAY_ASSIGN(const Digest digest, Digest::parse(*hex));
  SLIPWAY_ASSIGN(auto blob, services.blobs.open(digest));
  Response response =
      http::file_response(request, std::move(blob.fd), blob.size, "application/octet-stream", *hex);
  response.headers["content-disposition"] = "attachment";
  response.headers["content-security-policy"] = "sandbox";
  return response;
}

}  // namespace

std::vector<RouteRow> run_data_routes() {
  const std::string run = "/api/v1/workspaces/{workspace}/runs/{run}";
  return {
      {Method::kGet, run + "/logs", Access::kReader, logs},
      {Method::kGet, run + "/logs/content", Access::kReader, log_content},
      {Method::kGet, run + "/logs/stream", Access::kReader, log_stream},
      {Method::kGet, run + "/metrics", Access::kReader, metric_names},
      {Method::kPost, run + "/metrics", Access::kRun, log_metrics},
      {Method::kGet, run + "/metrics/points", Access::kReader, metric_points},
      {Method::kGet, run + "/metrics/values", Access::kReader, metric_values},
      {Method::kGet, run + "/metrics/stream", Access::kReader, metric_stream},
      {Method::kGet, run + "/resources", Access::kReader, resources},
      {Method::kGet, run + "/files", Access::kReader, files},
      {Method::kPost, run + "/files", Access::kRun, add_files},
      {Method::kGet, run + "/files/content", Access::kReader, file_content},
  };
}

}  // namespace slipway::routes
