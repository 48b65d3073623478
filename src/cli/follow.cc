#include "cli/follow.h"

#include <fmt/format.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "cli/answer.h"
#include "cli/interruption.h"
#include "cli/preparation_logs.h"
#include "cli/quantities.h"
#include "client/streams.h"

namespace slipway::cli {
namespace {

// Two streams: the events on the caller's thread, the log on one of its own. The console is shared under one
// mutex. The log of the newest attempt is followed; when an attempt is replaced, what is left of the old
// one's log is read before the new one's begins.
class RunFollower {
 public:
  RunFollower(Context& context, Session& session, const json::object& run, const FollowOptions& options)
      : context_(context),
        session_(session),
        options_(options),
        run_(run),
        id_(text_at(run, "id")),
        path_(session.run_path(run)),
        nodes_(integer_at(object_at(run, "job"), "nodes", 1)),
        attempt_(std::max<int64_t>(integer_at(run, "attempt"), 1)),
        events_(session.connection(), contact_options()) {}

  Result<Followed> follow() {
    if (options_.log && nodes_ > 1)
      context_.console.hint(fmt::format(
          "the first of {} nodes is shown; another: slipway run logs -f {} --rank 1", nodes_, id_));
    // Before the threads below, so that they leave the signals alone.
    Interruption interruption([this] { leave(); });
    std::thread reader;
    if (options_.log) reader = std::thread([this] { log_status_ = follow_log(); });
    std::thread timer;
    if (options_.timeout) timer = std::thread([this] { watch_the_time(); });
    const Status status = follow_events();
    change([this] { events_ended_ = true; });
    if (!status) leave();
    if (reader.joinable()) reader.join();
    if (timer.joinable()) timer.join();
    if (interruption.happened()) return detached();
    if (timed_out_)
      return fail(ErrorCode::kTimeout,
                  fmt::format("run {} has not ended within {}", id_, to_text(*options_.timeout)),
                  fmt::format("it goes on; wait again: slipway run wait {}", id_));
    if (!status) return fail(session_.explained(status.error()));
    if (!log_status_) return fail(session_.explained(log_status_.error()));
    return ended();
  }

 private:
  client::FollowOptions contact_options() {
    client::FollowOptions options;
    options.on_contact = [this](bool there) { say_contact(there); };
    return options;
  }

  // From any thread, any number of times.
  void leave() {
    events_.stop();
    change([this] {
      leaving_ = true;
      stop_logs();
    });
  }

  void stop_logs() {  // the mutex is held
    if (preparation_) preparation_->stop();
    if (log_) log_->stop();
  }

  template <class Change>
  void change(Change&& make) {
    const std::lock_guard lock(state_mutex_);
    make();
    state_changed_.notify_all();
  }

  void watch_the_time() {
    {
      std::unique_lock lock(state_mutex_);
      if (state_changed_.wait_for(lock, *options_.timeout, [this] { return leaving_ || events_ended_; }))
        return;
      timed_out_ = true;
    }
    leave();
  }

  Status follow_events() {
    return events_.follow(path_ + "/events/stream", "", [this](const http::Event& event) {
      if (const auto object = parse_json_object(event.data, "an event of the run")) take_event(*object);
      return true;
    });
  }

  void take_event(const json::object& event) {
    const int64_t attempt = integer_at(event, "attempt");
    change([&] {
      if (attempt <= attempt_) return;
      attempt_ = attempt;
      stop_logs();
    });
    if (options_.phases) show_event(event);
  }

  void show_event(const json::object& event) {
    const std::string state = text_at(event, "state");
    const std::string reason = text_at(event, "reason");
    const std::lock_guard lock(console_mutex_);
    if (std::exchange(shown_state_, state) == state && reason.empty()) return;
    const Timestamp now = context_.clock.now();
    const std::string when = clock_time(time_at(event, "time").value_or(now), now);
    const bool colour = context_.console.colour_err();
    context_.console.hint(fmt::format("{} {}{}", paint(when, Colour::kDim, colour),
                                      paint(printable(state), state_colour(state), colour),
                                      reason.empty() ? "" : ": " + printable(reason)));
  }

  void say_contact(bool there) {
    const std::lock_guard lock(console_mutex_);
    if (std::exchange(there_, there) == there) return;
    context_.console.hint(there ? "the server is back"
                                : "the server does not answer; the run goes on, trying again ...");
  }

  Status follow_log() {
    int64_t attempt = 0;
    uint64_t position = 0;
    while (const std::optional<int64_t> next = next_attempt(attempt)) {
      if (attempt != 0) read_rest(attempt, position);
      attempt = *next;
      position = 0;
      SLIPWAY_TRY(follow_attempt(attempt, position));
    }
    return {};
  }

  // The attempt to read after `attempt`; nullopt when there is nothing more to come. A log that ended in
  // order may be that of an attempt whose replacement is not yet announced, so the end of the events is
  // waited for.
  std::optional<int64_t> next_attempt(int64_t attempt) {
    std::unique_lock lock(state_mutex_);
    state_changed_.wait(lock, [&] { return leaving_ || attempt_ > attempt || events_ended_; });
    if (leaving_ || attempt_ <= attempt) return std::nullopt;
    preparation_ = std::make_unique<PreparationFollower>(session_.connection(), contact_options(), run_,
                                                         path_, attempt_, 0);
    log_ = std::make_unique<client::Follower>(session_.connection(), contact_options());
    return attempt_;
  }

  std::string log_target(std::string_view what, int64_t attempt) const {
    return fmt::format(
        "{}/logs/{}{}", path_, what,
        client::to_text({{"name", "std_log.txt"}, {"attempt", std::to_string(attempt)}, {"rank", "0"}}));
  }

  Status follow_attempt(int64_t attempt, uint64_t& position) {
    // Not the job's words: they go where Slipway's own go.
    SLIPWAY_TRY(preparation_->follow([this](std::string_view bytes) { write(bytes, "stderr"); }));
    return log_->follow_log(log_target("stream", attempt), 0, [&](const client::LogPiece& piece) {
      write(piece.bytes, piece.channel);
      position = piece.offset + piece.bytes.size();
      return true;
    });
  }

  void write(std::string_view bytes, std::string_view channel) {
    const std::lock_guard lock(console_mutex_);
    // With --json stdout is for the one object that tells the end.
    if (channel == "stderr" || context_.console.json()) {
      context_.console.err(bytes);
    } else {
      context_.console.out(bytes);
      context_.console.flush();
    }
  }

  // What an attempt that was replaced wrote after the last piece that was seen. Its node may be lost with the
  // rest of its log, so there may be none.
  void read_rest(int64_t attempt, uint64_t position) {
    http::Client client(session_.connection().http);
    http::Call call;
    call.target = log_target("content", attempt);
    call.headers["Range"] = fmt::format("bytes={}-", position);
    const Result<http::ClientResponse> answer = client.send(std::move(call));
    if (answer && answer->status == 206) write(answer->body, "stdout");
  }

  Followed detached() {
    context_.console.hint(
        fmt::format("\nno longer following; run {0} goes on\n  follow it again: slipway run logs -f {0}\n"
                    "  stop it: slipway run cancel {0}",
                    id_));
    return {.run = {{"id", id_}}, .exit_code = kExitDetached};
  }

  Result<Followed> ended() {
    SLIPWAY_ASSIGN(json::object run, session_.get(path_));
    const int code = exit_code_of(run);
    return Followed{.run = std::move(run), .exit_code = code};
  }

  Context& context_;
  Session& session_;
  const FollowOptions options_;
  const json::object run_;  // as it was at the beginning
  const std::string id_;
  const std::string path_;
  const int64_t nodes_;
  std::mutex console_mutex_;  // with the two below
  bool there_ = true;
  std::string shown_state_;
  std::mutex state_mutex_;  // with the rest
  std::condition_variable state_changed_;
  int64_t attempt_;       // the newest one seen
  bool leaving_ = false;  // Ctrl-C, out of time, or the events cannot be followed
  bool events_ended_ = false;
  bool timed_out_ = false;
  std::unique_ptr<PreparationFollower> preparation_;  // with the next: replaced by the log's thread alone
  std::unique_ptr<client::Follower> log_;
  client::Follower events_;
  Status log_status_;
};

}  // namespace

bool is_final(const json::object& run) {
  const std::string state = text_at(run, "state");
  return state == "Completed" || state == "Failed" || state == "Canceled";
}

int exit_code_of(const json::object& run) {
  if (text_at(run, "state") == "Completed") return 0;
  const int64_t code = integer_at(run, "exit_code");
  if (text_at(run, "state") == "Failed" && code > 0 && code < 256) return static_cast<int>(code);
  return exit_code(ErrorCode::kRunFailed);
}

std::string outcome_text(const json::object& run) {
  std::string text = text_at(run, "state");
  if (const auto seconds = number_at(run, "duration_seconds"))
    text += " after " + to_text(Duration(static_cast<int64_t>(*seconds * 1e6)));
  const std::string reason = text_at(run, "reason");
  const int64_t code = integer_at(run, "exit_code");
  if (!reason.empty()) {
    text += ": " + reason;
  } else if (code != 0 && text_at(run, "state") == "Failed") {
    text += fmt::format(" with exit code {}", code);
  }
  return printable(text);
}

int report_end(Context& context, const Followed& followed) {
  if (context.console.json()) {
    context.console.print_json(followed.run);
  } else if (is_final(followed.run)) {
    context.console.hint(fmt::format("{} {}", text_at(followed.run, "id"), outcome_text(followed.run)));
  }
  return followed.exit_code;
}

Result<Followed> follow_run(Context& context, Session& session, const json::object& run,
                            const FollowOptions& options) {
  return RunFollower(context, session, run, options).follow();
}

}  // namespace slipway::cli
