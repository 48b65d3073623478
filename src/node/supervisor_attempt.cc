#include "node/supervisor_attempt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "node/private_mounts.h"

namespace slipway::node {
namespace {

using namespace std::chrono_literals;

constexpr const char* kStdLog = "std_log.txt";
constexpr Duration kFirstSample = 1s;  // short runs have one too
constexpr Duration kSampleEvery = 5s;
constexpr Duration kScanEvery = 5s;
constexpr Duration kLogsAtMostEvery = 50ms;
constexpr Duration kLookEvery = 100ms;  // while there is no inotify
constexpr Duration kWatchAfter = 1s;
constexpr Duration kBoundAfter = 20ms;
constexpr Duration kStuck = 10s;  // that long SIGKILL may take before we go on without
constexpr size_t kPipeSize = JournalFeed::kMaxChunk;

std::string size_text(uint64_t bytes) {
  if (bytes >= (1ULL << 30) && bytes % (1ULL << 29) == 0)
    return fmt::format("{:g} GiB", static_cast<double>(bytes) / (1ULL << 30));
  return fmt::format("{} MiB", bytes >> 20);
}

// Whoever left the group is still our child, or will be once its parent is gone. Their numbers are safe to
// use: they cannot be given to others before we reap.
void kill_children() {
  const auto text = read_file(fmt::format("/proc/self/task/{}/children", ::getpid()), 1 << 20);
  std::string_view rest = text ? std::string_view(*text) : "";
  while (!rest.empty()) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
    if (error != std::errc{} || pid <= 0) return;
    ::kill(pid, SIGKILL);
    rest.remove_prefix(std::min(rest.size(), static_cast<size_t>(end - rest.data()) + 1));
  }
}

}  // namespace

ExitStatus Attempt::run() {
  ExitStatus status;
  status.started = status.ended = clock_.now();
  take_over_process();
  check_cancel();
  if (ending_.asked()) {
    ending_.describe(status);
    status.reason += " (before it started)";
    return status;
  }
  record_phase("starting");
  feed_.flush();
  SLIPWAY_FAILPOINT("supervisor.before_start");
  if (start(status)) {
    SLIPWAY_FAILPOINT("supervisor.after_start");
    record_phase("running");
    feed_.flush();
    feed_.sync_soon();
    loop();
    describe_end(status);
    drain();
  }
  socket_.reset();
  group_->remove();
  return status;
}

// Signals meant for a terminal or a session do not end a supervisor: it is told by cancel.json alone.
void Attempt::take_over_process() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2})
    ::signal(signal, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  signals_ = UniqueFd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Not for the first moments: taking an inotify instance down makes the end of a process wait for the whole
// machine, for some 10 ms, and most cancels and log files of a short job are found as soon by looking.
void Attempt::watch_folders() {
  watch_at_ = Monotonic::max();
  inotify_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (inotify_)
    folder_watch_ = ::inotify_add_watch(inotify_.get(), folder_.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE);
  if (folder_watch_ < 0) return;
  next_cancel_check_ = Monotonic::max();
  logs_->watch_with(inotify_.get());
  check_cancel();
}

void Attempt::record_phase(std::string_view phase) {
  feed_.record(journal::Kind::kPhase, json::serialize(json::object{{"phase", phase}}));
}

void Attempt::prepare_work() {
  for (const char* name : {"outputs", "logs"}) ::mkdir((spec_.work + "/" + name).c_str(), 0755);
  auto socket = InJobSocket::open(spec_.socket, spec_.work, feed_);
  if (socket) {
    socket_.emplace(std::move(*socket));
  } else {
    feed_.dropped("(in-job messages)", 1, socket.error().message);
  }
  logs_.emplace(spec_.work, feed_);
}

Result<StartedProcess> Attempt::start_in_its_place() {
  if (!spec_.overlays.empty() || spec_.root) SLIPWAY_TRY(enter_private_mounts(spec_.overlays, spec_.root));
  return start_process(spec_, group_->entrance());
}

bool Attempt::start(ExitStatus& status) {
  group_ = make_process_group(spec_.mark, spec_.limits);
  prepare_work();

  auto process = start_in_its_place();
  status.started = clock_.now();
  if (!process) {
    status.ended = status.started;
    status.code = process.error().code == ErrorCode::kNotFound ? 127 : 126;  // as shells have it
    status.reason = process.error().message;
    if (!process.error().next.empty()) status.reason += "; " + process.error().next;
    return false;
  }
  main_ = process->pid;
  outputs_[0] = {.fd = std::move(process->out), .channel = journal::Channel::kStdout, .buffer = {}};
  outputs_[1] = {.fd = std::move(process->err), .channel = journal::Channel::kStderr, .buffer = {}};
  const Monotonic now = clock_.monotonic();
  if (spec_.timeout > Duration(0)) time_limit_ = now + spec_.timeout;
  next_sample_ = now + kFirstSample;
  next_cancel_check_ = now + kLookEvery;
  next_scan_ = now + kLookEvery;
  watch_at_ = now + kWatchAfter;
  bound_at_ = now + kBoundAfter;
  sampler_.emplace(*group_, spec_.gpu_indices, clock_);
  return true;
}

void Attempt::loop() {
  // poll, not epoll: for six descriptors it needs no setting up, which is what a short job pays for.
  while (true) {
    std::array<pollfd, 6> polled{{{signals_.get(), POLLIN, 0},
                                  {outputs_[0].fd.get(), POLLIN, 0},
                                  {outputs_[1].fd.get(), POLLIN, 0},
                                  {inotify_.get(), POLLIN, 0},
                                  {socket_ ? socket_->fd() : -1, POLLIN, 0},
                                  {mounts_ != nullptr ? mounts_->fd() : -1, POLLIN, 0}}};
    ::poll(polled.data(), polled.size(), wait_milliseconds(clock_.monotonic()));
    // Before the signal: a job that failed on bad data ended because of the data.
    if (polled[5].revents != 0 || polled[0].revents != 0) on_mounts();
    if (polled[0].revents != 0) on_signal();
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (polled[i + 1].revents != 0) read_output(outputs_[i]);
    if (polled[3].revents != 0) on_inotify();
    if (polled[4].revents != 0) socket_->receive(clock_.now());
    const Monotonic now = clock_.monotonic();
    do_timed(now);
    read_logs(now);
    feed_.flush();
    if (over(now)) return;
    end_if_due(now);
  }
}

int Attempt::wait_milliseconds(Monotonic now) const {
  Monotonic next =
      std::min({feed_.next_flush(), next_sample_, next_scan_, next_cancel_check_, watch_at_, bound_at_});
  if (time_limit_) next = std::min(next, *time_limit_);
  if (const auto due = ending_.next()) next = std::min(next, *due);
  if (logs_->has_unread()) next = std::min(next, next_log_read_);
  if (next <= now) return 0;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(
                              std::min<Duration>(std::chrono::duration_cast<Duration>(next - now), 60s))
                              .count());
}

void Attempt::on_signal() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) > 0) {
  }
  reap();
}

void Attempt::reap() {
  while (true) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) no_children_ = true;
    if (pid <= 0) return;
    if (pid != main_) continue;
    main_status_ = status;
    ended_ = clock_.now();
    ending_.main_process_ended(clock_.monotonic());
  }
}

void Attempt::on_mounts() {
  const auto reason = mounts_ != nullptr ? mounts_->receive() : std::nullopt;
  if (reason) ending_.ask(Ending::Cause::kData, *reason, spec_.grace, false, clock_.monotonic());
}

void Attempt::on_inotify() {
  alignas(inotify_event) char buffer[16 << 10];
  while (true) {
    const ssize_t size = ::read(inotify_.get(), buffer, sizeof buffer);
    if (size <= 0) return;
    for (const char* at = buffer; at < buffer + size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      if (event->wd == folder_watch_) {
        if (event->len > 0 && std::string_view(event->name) == "cancel.json") check_cancel();
      } else {
        logs_->on_event(event->wd, event->mask, event->len > 0 ? event->name : "");
      }
    }
  }
}

void Attempt::check_cancel() {
  const auto text = read_file(folder_ / "cancel.json", 1 << 20);
  if (!text) return;
  std::string reason;
  double grace = std::chrono::duration<double>(spec_.grace).count();
  bool kill = false;
  // The file being there is the order; what cannot be read of it takes its default.
  if (const auto object = parse_json_object(*text, "cancel.json")) {
    JsonFields fields(*object, "cancel.json");
    fields.optional("reason", reason);
    fields.optional("grace_seconds", grace);
    fields.optional("kill", kill);
  }
  grace = std::clamp(grace, 0.0, 86'400.0);
  if (reason.empty()) reason = "canceled";
  ending_.ask(Ending::Cause::kCancel, std::move(reason),
              std::chrono::duration_cast<Duration>(std::chrono::duration<double>(grace)), kill,
              clock_.monotonic());
}

bool Attempt::read_output(Output& output) {
  if (!output.fd) return false;
  if (!output.buffer) output.buffer = std::make_unique_for_overwrite<char[]>(output.size);
  const ssize_t count = ::read(output.fd.get(), output.buffer.get(), output.size);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    output.fd.reset();
    return false;
  }
  const auto size = static_cast<size_t>(count);
  feed_.log(kStdLog, output.channel, {output.buffer.get(), size});
  // A job that writes much gets a large pipe and a large buffer; most write little and need neither.
  if (output.size < kPipeSize && size >= output.size / 2) {
    feed_.flush();
    output.size = kPipeSize;
    output.buffer.reset();
    ::fcntl(output.fd.get(), F_SETPIPE_SZ, static_cast<int>(kPipeSize));
  }
  return true;
}

void Attempt::read_logs(Monotonic now) {
  if (!logs_->has_unread() || now < next_log_read_) return;
  next_log_read_ = logs_->read() ? now : now + kLogsAtMostEvery;
}

void Attempt::do_timed(Monotonic now) {
  if (time_limit_ && now >= *time_limit_) {
    time_limit_.reset();
    ending_.ask(Ending::Cause::kTimeLimit,
                fmt::format("stopped: it reached its time limit of {}", to_text(spec_.timeout)), spec_.grace,
                false, now);
  }
  if (now >= next_sample_) {
    next_sample_ = now + kSampleEvery;
    feed_.record(journal::Kind::kSample, sampler_->sample());
  }
  if (now >= next_scan_) {
    next_scan_ = now + (folder_watch_ < 0 ? kLookEvery : kScanEvery);
    logs_->scan();
  }
  if (now >= next_cancel_check_) {
    next_cancel_check_ = now + kLookEvery;
    check_cancel();
  }
  if (now >= watch_at_) watch_folders();
  if (now >= bound_at_) {
    bound_at_ = Monotonic::max();
    group_->bound();
  }
}

bool Attempt::over(Monotonic now) const {
  if (!main_status_) return false;
  return no_children_ || (ending_.killing_since() && now - *ending_.killing_since() > kStuck);
}

void Attempt::end_if_due(Monotonic now) {
  switch (ending_.due(now)) {
    case Ending::Action::kNone: return;
    case Ending::Action::kTerminate: group_->signal_all(SIGTERM); return;
    case Ending::Action::kKill:
      group_->kill_all();
      kill_children();
      return;
  }
}

// Nobody is left to write: what can be read now is all there is.
void Attempt::drain() {
  for (Output& output : outputs_)
    while (read_output(output)) feed_.flush();
  if (socket_) {
    while (socket_->receive(clock_.now())) feed_.flush();
    socket_->finish();
  }
  // A second look only when the first found files changing places; nobody is left to move them for ever.
  for (int look = 0; look == 0 || (look < 3 && logs_->has_unread()); ++look) {
    logs_->scan();
    while (logs_->read()) feed_.flush();
    feed_.flush();
  }
  SLIPWAY_FAILPOINT("supervisor.before_exit_record");
}

void Attempt::describe_end(ExitStatus& status) {
  status.ended = ended_;
  if (WIFSIGNALED(*main_status_)) {
    status.signal = WTERMSIG(*main_status_);
    status.code = 128 + status.signal;
    status.reason = fmt::format("killed by signal {} ({})", status.signal, ::strsignal(status.signal));
  } else {
    status.code = WEXITSTATUS(*main_status_);
    if (status.code != 0) status.reason = fmt::format("exited with code {}", status.code);
  }
  ending_.describe(status);
  if (!ending_.asked() && status.code != 0 && group_->out_of_memory_kills() > 0) {
    status.out_of_memory = true;
    status.reason = spec_.limits.memory_bytes > 0 ? fmt::format("killed: out of memory (limit {})",
                                                                size_text(spec_.limits.memory_bytes))
                                                  : "killed: out of memory";
  }
  if (!no_children_) status.reason += "; some of its processes could not be killed";
}

}  // namespace slipway::node
