// What clients of a service need: a request to try it with, its keys, its logs.
#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <memory>

#include "base/file.h"
#include "cli/answer.h"
#include "cli/interruption.h"
#include "cli/quantities.h"
#include "cli/services.h"
#include "client/streams.h"
#include "http/client.h"

namespace slipway::cli {
namespace {

constexpr uint64_t kLargestSample = 64 << 20;
constexpr int kExitInterrupted = 130;

struct TestOptions {
  std::string name;
  std::string data;
  std::string path = "/score";
};

// A file, "-" for standard input, or the text itself.
Result<std::string> sample_of(const std::string& data) {
  if (data == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  if (data.starts_with('{') || data.starts_with('[')) return data;
  return read_file(data, kLargestSample);
}

// What the service asks for; empty: nothing.
Result<Secret> secret_for(Session& session, const json::object& service) {
  const std::string auth = text_at(service, "auth");
  const std::string path = service_path(session, text_at(service, "name"));
  if (auth == "none") return Secret();
  if (auth == "token") {
    SLIPWAY_ASSIGN(const json::object answer, session.create(path + "/token", {}));
    return Secret(text_at(answer, "token"));
  }
  SLIPWAY_ASSIGN(const json::object keys, session.get(path + "/keys"));
  return Secret(text_at(keys, "primary"));
}

Result<int> try_service(Context& context, const TestOptions& options) {
  SLIPWAY_ASSIGN(const std::string body, sample_of(options.data));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object service, session.get(service_path(session, options.name)));
  http::ClientOptions target = session.connection().http;
  SLIPWAY_ASSIGN(target.token, secret_for(session, service));
  target.answer_time = std::chrono::minutes(10);
  http::Client client(target);
  const std::string below = options.path.starts_with('/') ? options.path : "/" + options.path;
  const auto answer =
      client.send({.method = http::Method::kPost, .target = text_at(service, "path") + below, .body = body});
  if (!answer) return fail(session.explained(answer.error()));
  if (answer->status >= 400) {
    Error error = error_from_json(answer->body, answer->status);
    error.message = fmt::format("service '{}' answered {}: {}", options.name, answer->status,
                                answer->body.empty() ? error.message : printable(answer->body, 2000));
    error.next =
        answer->status >= 500 ? fmt::format("slipway service logs {} may say why", options.name) : error.next;
    return fail(std::move(error));
  }
  context.console.out(answer->body);
  if (!answer->body.ends_with('\n')) context.console.line("");
  return 0;
}

void print_keys(Context& context, const json::object& keys) {
  if (context.console.json()) {
    context.console.print_json(keys);
    return;
  }
  context.console.line(fmt::format("primary    {}", text_at(keys, "primary")));
  context.console.line(fmt::format("secondary  {}", text_at(keys, "secondary")));
}

Result<int> show_keys(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object keys, session.get(service_path(session, name) + "/keys"));
  print_keys(context, keys);
  return 0;
}

Result<int> renew_key(Context& context, const std::string& name, const std::string& which) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(
      const json::object keys,
      session.create(service_path(session, name) + "/keys/" + (which.empty() ? "primary" : which), {}));
  print_keys(context, keys);
  return 0;
}

Result<int> show_token(Context& context, const std::string& name, const std::optional<Duration>& lifetime) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  json::object body;
  if (lifetime) body["expires_seconds"] = lifetime->count() / 1'000'000;
  SLIPWAY_ASSIGN(const json::object token, session.create(service_path(session, name) + "/token", body));
  if (context.console.json())
    context.console.print_json(token);
  else
    context.console.line(text_at(token, "token"));
  return 0;
}

struct LogOptions {
  std::string name;
  bool follow = false;
  std::optional<int> tail;
};

// The last lines of each replica's part.
std::string tail_of(std::string_view text, size_t lines) {
  size_t from = text.size();
  while (lines > 0 && from > 0) {
    from = text.rfind('\n', from - 1);
    if (from == std::string_view::npos) return std::string(text);
    if (from + 1 < text.size()) --lines;
  }
  return std::string(text.substr(from + (from < text.size() ? 1 : 0)));
}

Result<int> follow_logs(Context& context, Session& session, const std::string& name) {
  client::Follower follower(session.connection());
  const Interruption interruption([&follower] { follower.stop(); });
  const Status followed =
      follower.follow(service_path(session, name) + "/logs/stream", "", [&](const http::Event& event) {
        const auto data = parse_json_object(event.data, "an event");
        if (!data) return true;
        const std::string prefix = fmt::format("[{}] ", integer_at(*data, "replica"));
        std::string text = text_at(*data, "text");
        for (std::string_view rest = text; !rest.empty();) {
          const std::string_view line = rest.substr(0, rest.find('\n'));
          rest.remove_prefix(std::min(rest.size(), line.size() + 1));
          context.console.line(prefix + std::string(line));
        }
        context.console.flush();
        return true;
      });
  if (interruption.happened()) return kExitInterrupted;
  if (!followed) return fail(session.explained(followed.error()));
  return 0;
}

Result<int> show_logs(Context& context, const LogOptions& options) {
  if (options.tail && *options.tail < 0) return fail(ErrorCode::kInvalidArgument, "--tail must be 0 or more");
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_TRY(session.get(service_path(session, options.name)));
  if (options.follow) return follow_logs(context, session, options.name);
  http::Call call;
  call.target = service_path(session, options.name) + "/logs";
  const auto answer = session.requests().send(call);
  if (!answer) return fail(session.explained(answer.error()));
  context.console.out(options.tail ? tail_of(answer->body, static_cast<size_t>(*options.tail))
                                   : answer->body);
  return 0;
}

}  // namespace

void add_service_use(Command service, Context& context) {
  const auto tested = std::make_shared<TestOptions>();
  Command test = service.command("test", "Send a service a request and print the answer",
                                 "slipway service test digits-svc --data sample.json");
  test.example(
      "slipway service test digits-svc --data '{\"instances\": [[1, 2]]}' --path /v1/models/digits:predict");
  test.positional("NAME", tested->name, "the service", Completes::kService);
  test.option("--data", tested->data, "FILE", "the body: a file, - for standard input, or JSON itself",
              Completes::kFile);
  test.option("--path", tested->path, "PATH", "where to post it (/score)");
  test.action([tested, &context] { return try_service(context, *tested); });

  const auto keyed = std::make_shared<std::string>();
  Command keys = service.command("keys", "Show the keys of a service", "slipway service keys digits-svc");
  keys.positional("NAME", *keyed, "the service", Completes::kService);
  keys.action([keyed, &context] { return show_keys(context, *keyed); });

  const auto renewed = std::make_shared<std::pair<std::string, std::string>>();
  Command renew = service.command("regen-key", "Make a key anew; the old one is refused at once",
                                  "slipway service regen-key digits-svc --key secondary");
  renew.positional("NAME", renewed->first, "the service", Completes::kService);
  renew.choice("--key", renewed->second, {"primary", "secondary"}, "which (primary)");
  renew.action([renewed, &context] { return renew_key(context, renewed->first, renewed->second); });

  const auto token_options = std::make_shared<std::pair<std::string, std::optional<Duration>>>();
  Command token = service.command("token", "Make a token for a service that asks for one",
                                  "slipway service token digits-svc --expires 1h");
  token.positional("NAME", token_options->first, "the service", Completes::kService);
  token.option("--expires", token_options->second, "TIME", "how long it is good (1h)");
  token.action(
      [token_options, &context] { return show_token(context, token_options->first, token_options->second); });

  const auto logged = std::make_shared<LogOptions>();
  Command logs =
      service.command("logs", "Print the logs of a service's replicas", "slipway service logs -f digits-svc");
  logs.positional("NAME", logged->name, "the service", Completes::kService);
  logs.flag("--follow,-f", logged->follow, "print what comes, each line with the number of its replica");
  logs.option("--tail,-n", logged->tail, "N", "only the last N lines");
  logs.action([logged, &context] { return show_logs(context, *logged); });
}

}  // namespace slipway::cli
