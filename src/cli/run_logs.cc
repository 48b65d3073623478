#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/answer.h"
#include "cli/follow.h"
#include "cli/interruption.h"
#include "cli/last_lines.h"
#include "cli/preparation_logs.h"
#include "cli/quantities.h"
#include "cli/runs.h"
#include "cli/session.h"
#include "cli/table.h"
#include "client/streams.h"

namespace slipway::cli {
namespace {

constexpr uint64_t kTailStep = 64 << 10;
constexpr std::string_view kStandardLog = "std_log.txt";

struct LogOptions {
  std::string run;
  std::string name{kStandardLog};
  std::optional<int> attempt;
  int rank = 0;
  std::optional<int> tail;
  std::string channel;
  bool follow = false;
  bool list = false;
};

uint64_t size_at(const json::object& log) {
  return static_cast<uint64_t>(std::max<int64_t>(integer_at(log, "size"), 0));
}

// One log of one attempt.
class LogReader {
 public:
  LogReader(Context& context, Session& session, const json::object& run, const LogOptions& options)
      : context_(context),
        session_(session),
        options_(options),
        run_(run),
        id_(text_at(run, "id")),
        path_(session.run_path(run)),
        attempt_(options.attempt ? *options.attempt : std::max<int64_t>(integer_at(run, "attempt"), 1)) {}

  // Prints the last `lines` lines; gives the position after them.
  Result<uint64_t> print_tail(size_t lines) {
    SLIPWAY_ASSIGN(const uint64_t size, size_now());
    std::string tail;
    for (uint64_t begin = size; begin > 0;) {
      const uint64_t from = begin > kTailStep ? begin - kTailStep : 0;
      SLIPWAY_ASSIGN(const std::string piece, read_range(from, begin - 1));
      tail.insert(0, piece);
      begin = from;
      const std::optional<size_t> cut = start_of_last_lines(tail, lines);
      if (!cut) continue;
      tail.erase(0, *cut);
      break;
    }
    context_.console.out(tail);
    context_.console.flush();
    return size;
  }

  Status copy_all() {
    Query query = log_query();
    query["channel"] = options_.channel;
    http::Call call = get_content(query);
    call.sink = [this](std::string_view bytes) -> Status {
      context_.console.out(bytes);
      return {};
    };
    const Result<http::ClientResponse> answer = session_.requests().stream(std::move(call));
    if (answer) return {};
    if (answer.error().code == ErrorCode::kTooLarge) return copy_channel();
    if (answer.error().code != ErrorCode::kNotFound) return fail(session_.explained(answer.error()));
    return say_that_there_is_none(answer.error());
  }

  Result<int> follow(uint64_t position) {
    client::FollowOptions follow_options;
    follow_options.on_contact = [this](bool there) {
      context_.console.hint(there ? "the server is back" : "the server does not answer; trying again ...");
    };
    PreparationFollower preparation(session_.connection(), follow_options, run_, path_, attempt_,
                                    options_.rank);
    client::Follower follower(session_.connection(), std::move(follow_options));
    Interruption interruption([&] {
      preparation.stop();
      follower.stop();
    });
    Status status;
    if (position == 0 && options_.name == kStandardLog && is_being_prepared(run_))
      status = preparation.follow([this](std::string_view bytes) { context_.console.err(bytes); });
    if (status)
      status = follower.follow_log(stream_target(), position, [this](const client::LogPiece& piece) {
        print(piece);
        return true;
      });
    if (interruption.happened()) {
      context_.console.hint(fmt::format(
          "\nno longer following; go on: slipway run logs -f {0}\n  stop the run: slipway run cancel {0}",
          id_));
      return kExitDetached;
    }
    if (!status) return fail(session_.explained(status.error()));
    return 0;
  }

 private:
  Query log_query() const {
    return {{"name", options_.name},
            {"attempt", std::to_string(attempt_)},
            {"rank", std::to_string(options_.rank)}};
  }

  std::string stream_target() const { return path_ + "/logs/stream" + client::to_text(log_query()); }

  http::Call get_content(const Query& query) const {
    http::Call call;
    call.target = path_ + "/logs/content" + client::to_text(query);
    return call;
  }

  void print(const client::LogPiece& piece) {
    if (!options_.channel.empty() && options_.channel != piece.channel) return;
    context_.console.out(piece.bytes);
    context_.console.flush();
  }

  // One channel of a log that is too long for the server to take apart.
  Status copy_channel() {
    SLIPWAY_ASSIGN(const uint64_t size, size_now());
    client::Follower follower(session_.connection());
    return follower.follow_log(stream_target(), 0, [&](const client::LogPiece& piece) {
      print(piece);
      return piece.offset + piece.bytes.size() < size;
    });
  }

  // A run that has printed nothing has no log, which is no mistake of whoever asks.
  Status say_that_there_is_none(Error error) {
    if (options_.name != kStandardLog) {
      error.next = fmt::format("see which logs there are: slipway run logs {} --list", id_);
      return fail(std::move(error));
    }
    context_.console.hint(fmt::format("run {} has printed nothing", id_));
    return print_preparation();
  }

  // What there is instead: the account of how it was, or is being, prepared.
  Status print_preparation() {
    SLIPWAY_ASSIGN(const json::array logs, session_.list(path_ + "/logs", {}, 0));
    for (const json::value& item : logs) {
      const json::object& log = item.as_object();
      if (!text_at(log, "name").starts_with("system_logs/") || integer_at(log, "rank") != options_.rank ||
          integer_at(log, "attempt") != attempt_)
        continue;
      Query query = log_query();
      query["name"] = text_at(log, "name");
      http::Call call = get_content(query);
      call.sink = [this](std::string_view bytes) -> Status {
        context_.console.err(bytes);
        return {};
      };
      const Result<http::ClientResponse> answer = session_.requests().stream(std::move(call));
      if (!answer) return fail(session_.explained(answer.error()));
    }
    return {};
  }

  bool is_this(const json::object& log) const {
    return text_at(log, "name") == options_.name && integer_at(log, "rank") == options_.rank &&
           integer_at(log, "attempt") == attempt_;
  }

  Result<uint64_t> size_now() {
    SLIPWAY_ASSIGN(const json::array logs, session_.list(path_ + "/logs", {}, 0));
    for (const json::value& item : logs)
      if (is_this(item.as_object())) return size_at(item.as_object());
    return 0;
  }

  Result<std::string> read_range(uint64_t first, uint64_t last) {
    http::Call call = get_content(log_query());
    call.headers["Range"] = fmt::format("bytes={}-{}", first, last);
    const Result<http::ClientResponse> answer = session_.requests().send(call);
    if (!answer) return fail(session_.explained(answer.error()));
    return answer->body;
  }

  Context& context_;
  Session& session_;
  const LogOptions& options_;
  const json::object& run_;
  const std::string id_;
  const std::string path_;
  const int64_t attempt_;
};

Result<int> list_logs(Context& context, Session& session, const json::object& run,
                      const LogOptions& options) {
  SLIPWAY_ASSIGN(json::array logs, session.list(session.run_path(run) + "/logs", {}, 0));
  if (options.attempt) {
    const auto is_other = [&](const json::value& log) {
      return integer_at(log.as_object(), "attempt") != *options.attempt;
    };
    logs.erase(std::remove_if(logs.begin(), logs.end(), is_other), logs.end());
  }
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(logs)}});
    return 0;
  }
  Table table({{"LOG", Align::kLeft, 16},
               {"ATTEMPT", Align::kRight},
               {"RANK", Align::kRight},
               {"SIZE", Align::kRight}});
  for (const json::value& item : logs) {
    const json::object& log = item.as_object();
    table.add({text_at(log, "name"), std::to_string(integer_at(log, "attempt")),
               std::to_string(integer_at(log, "rank")), bytes_text(size_at(log))});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  return 0;
}

Result<int> print_log(Context& context, const LogOptions& options) {
  if (options.tail && *options.tail < 0) return fail(ErrorCode::kInvalidArgument, "--tail must be 0 or more");
  if (options.tail && !options.channel.empty())
    return fail(ErrorCode::kInvalidArgument, "--tail and --channel cannot be combined",
                "pipe it instead: slipway run logs RUN --channel stderr | tail");
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object run, session.find_run(options.run));
  if (options.list) return list_logs(context, session, run, options);
  LogReader reader(context, session, run, options);
  uint64_t position = 0;
  if (options.tail) {
    SLIPWAY_ASSIGN(position, reader.print_tail(static_cast<size_t>(*options.tail)));
  }
  if (options.follow) return reader.follow(position);
  if (!options.tail) SLIPWAY_TRY(reader.copy_all());
  return 0;
}

}  // namespace

void add_run_logs(Command run, Context& context) {
  const auto options = std::make_shared<LogOptions>();
  Command logs = run.command("logs", "Print the log of a run", "slipway run logs -f latest");
  logs.example("slipway run logs latest --tail 20");
  logs.example("slipway run logs latest --name logs/train.log");
  logs.positional("RUN", options->run, "the run", Completes::kRun);
  logs.flag("--follow,-f", options->follow, "print what comes until the run has ended");
  logs.option("--tail,-n", options->tail, "N", "only the last N lines");
  logs.option("--name", options->name, "NAME", "which log (std_log.txt: what the job prints)");
  logs.option("--attempt", options->attempt, "N", "of this attempt (the last one)");
  logs.option("--rank", options->rank, "N", "of this node of a run on several (0)");
  logs.choice("--channel", options->channel, {"stdout", "stderr"}, "only this channel");
  logs.flag("--list,-l", options->list, "list the logs there are instead");
  logs.action([options, &context] { return print_log(context, *options); });
}

}  // namespace slipway::cli
