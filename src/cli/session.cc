#include "cli/session.h"

#include <fmt/format.h>

#include <charconv>

#include "base/file.h"
#include "cli/answer.h"
#include "cli/quantities.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

template <class T>
Result<T> with_advice(const Session& session, Result<T> result) {
  if (result) return result;
  return fail(session.explained(std::move(result).error()));
}

// How many runs back from the newest: 1 for "latest" and "@1"; 0 for a name of another kind.
Result<size_t> counted_from_newest(const std::string& name) {
  if (name == "latest") return 1;
  if (!name.starts_with('@')) return 0;
  size_t count = 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), count);
  if (error != std::errc{} || end != name.data() + name.size() || count == 0 || count > 10'000)
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' names no run", printable(name, 64)),
                "write @1 for the newest run, @2 for the one before it");
  return count;
}

}  // namespace

std::optional<ServerRecord> read_server_record(const std::filesystem::path& home) {
  const Result<std::string> text = read_file(home / "server.json", 64 << 10);
  if (!text) return std::nullopt;
  const Result<json::object> object = parse_json_object(*text, "server.json");
  if (!object) return std::nullopt;
  return ServerRecord{.url = text_at(*object, "url"),
                      .public_url = text_at(*object, "public_url"),
                      .pid = integer_at(*object, "pid"),
                      .version = text_at(*object, "version"),
                      .auth = text_at(*object, "auth")};
}

Result<Session> Session::open(const Context& context) {
  const GlobalOptions& given = context.options;
  client::ConnectionHints hints;
  hints.url = given.server;
  hints.token_file = given.token_file;
  hints.workspace = given.workspace;
  hints.ca_file = given.ca_file;
  hints.home = context.home();
  SLIPWAY_ASSIGN(client::Connection connection, client::find_connection(hints));
  return Session(std::move(connection));
}

Result<json::object> Session::get(const std::string& target) {
  return with_advice(*this, requests_.get(target));
}

Result<json::object> Session::create(const std::string& target, const json::object& body) {
  return with_advice(*this, requests_.create(target, body));
}

Result<json::object> Session::change(http::Method method, const std::string& target,
                                     const json::object& body) {
  return with_advice(*this, requests_.call(method, target, &body));
}

Status Session::remove(const std::string& target) {
  return with_advice(*this, requests_.remove(target));
}

Result<json::array> Session::list(const std::string& path, Query query, size_t limit) {
  SLIPWAY_ASSIGN(json::array items, with_advice(*this, requests_.list(path, std::move(query), limit)));
  for (const json::value& item : items)
    if (!item.is_object())
      return fail(ErrorCode::kInternal, fmt::format("{} does not answer as a Slipway server does", url()),
                  "check the address");
  return items;
}

Result<json::object> Session::find_run(const std::string& name) {
  SLIPWAY_ASSIGN(const size_t newest, counted_from_newest(name));
  if (newest == 0) {
    SLIPWAY_TRY(check_name(name, "run", 128));
    return get(in_workspace("/runs/" + http::percent_encode(name)));
  }
  SLIPWAY_ASSIGN(json::array runs, list(in_workspace("/runs"), {}, newest));
  // A list leaves out what a run's own record has.
  if (runs.size() >= newest) return get(run_path(runs[newest - 1].as_object()));
  const std::string count = count_of(static_cast<int64_t>(runs.size()), "run");
  return fail(ErrorCode::kNotFound,
              runs.empty() ? fmt::format("there is no run in workspace '{}' yet", workspace())
                           : fmt::format("workspace '{}' has only {}", workspace(), count),
              "submit one: slipway submit -- python train.py");
}

std::string Session::run_path(const json::object& run) const {
  return in_workspace("/runs/" + http::percent_encode(text_at(run, "id")));
}

}  // namespace slipway::cli
