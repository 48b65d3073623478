#include "node/supervisor_attempt.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/inotify.h>
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
#include "launch/orted_command.h"

namespace slipway::node {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSampleEvery = 5s;
constexpr Duration kScanEvery = 5s;
constexpr Duration kLogsAtMostEvery = 50ms;
constexpr Duration kLookEvery = 100ms;  // while there is no inotify
constexpr Duration kStuck = 10s;        // that long SIGKILL may take before we go on without
constexpr size_t kFixed = 5;            // polled descriptors before those of the ranks

std::string size_text(uint64_t bytes) {
  if (bytes >= (1ULL << 30) && bytes % (1ULL << 29) == 0)
    return fmt::format("{:g} GiB", static_cast<double>(bytes) / (1ULL << 30));
  return fmt::format("{} MiB", bytes >> 20);
}

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
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
    drain();
    describe_end(status);
  }
  socket_.reset();
  group_->remove();
  return status;
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

// poll, not epoll: for a few descriptors it needs no setting up, which is what a short job pays for.
void Attempt::poll_all() {
  polled_.clear();
  polled_.push_back({signals_.get(), POLLIN, 0});
  polled_.push_back({inotify_.get(), POLLIN, 0});
  polled_.push_back({socket_ ? socket_->fd() : -1, POLLIN, 0});
  polled_.push_back({mounts_ != nullptr ? mounts_->fd() : -1, POLLIN, 0});
  polled_.push_back({told_.get(), POLLIN, 0});
  for (const Rank& rank : ranks_)
    for (size_t channel = 0; channel < Rank::kChannels; ++channel)
      polled_.push_back({rank.fd(channel), POLLIN, 0});
  ::poll(polled_.data(), polled_.size(), wait_milliseconds(clock_.monotonic()));
}

void Attempt::read_ranks() {
  for (size_t i = 0; i < ranks_.size(); ++i)
    for (size_t channel = 0; channel < Rank::kChannels; ++channel)
      if (polled_[kFixed + i * Rank::kChannels + channel].revents != 0) ranks_[i].read(channel);
}

void Attempt::loop() {
  while (true) {
    poll_all();
    // Before the signal: a job that failed on bad data ended because of the data.
    if (polled_[3].revents != 0 || polled_[0].revents != 0) on_mounts();
    if (polled_[0].revents != 0) on_signal();
    read_ranks();
    if (polled_[4].revents != 0) on_told();
    if (polled_[1].revents != 0) on_inotify();
    if (polled_[2].revents != 0) socket_->receive(clock_.now());
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
    const auto rank = std::ranges::find(ranks_, pid, &Rank::pid);
    if (rank == ranks_.end() || rank->has_ended()) continue;
    rank->ended(status, clock_.now());
    rank_ended(*rank);
  }
}

// Told at once: the other nodes need not wait until the last process here has ended.
void Attempt::announce(std::string_view phase, const std::string& detail) {
  feed_.record(journal::Kind::kPhase, json::serialize(json::object{{"phase", phase}, {"detail", detail}}));
}

void Attempt::rank_ended(Rank& rank) {
  if (rank.failed() && !ending_.asked() && !first_failed_)
    first_failed_ = static_cast<size_t>(&rank - ranks_.data());
  const bool all =
      std::ranges::all_of(ranks_, [](const Rank& other) { return other.pid() < 0 || other.has_ended(); });
  const Monotonic now = clock_.monotonic();
  if (all) return ending_.main_process_ended(now);
  if (rank.failed()) {
    if (!ending_.asked()) {
      for (size_t channel = 0; channel < Rank::kChannels; ++channel) rank.read(channel);
      feed_.flush();
      ExitStatus status;
      rank.describe(status);
      announce("rank-failed", who_failed(rank, status.reason));
    }
    ending_.ask(Ending::Cause::kRankFailed, "", spec_.grace, false, now);
  } else if (rank.number() == 0 && spec_.end_rule == launch::EndRule::kLeader) {
    if (!ending_.asked()) announce("leader-done", "rank 0 has ended well; the others are ended");
    ending_.ask(Ending::Cause::kLeaderDone, "", spec_.grace, false, now);
  }
}

// What comes here is the job's own word: a line that is none says nothing.
void Attempt::on_told() {
  constexpr size_t kLongestLine = 64;
  char bytes[4096];
  const ssize_t count = ::read(told_.get(), bytes, sizeof bytes);
  if (count <= 0) return;
  told_text_.append(bytes, static_cast<size_t>(count));
  for (size_t end = told_text_.find('\n'); end != std::string::npos; end = told_text_.find('\n')) {
    told_of_end(std::string_view(told_text_).substr(0, end));
    told_text_.erase(0, end + 1);
  }
  if (told_text_.size() > kLongestLine) told_text_.clear();
}

// Which rank it was is put on record, with what it printed last; what becomes of the others is the business
// of whoever started it.
void Attempt::told_of_end(std::string_view line) {
  const size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return;
  const auto number = number_in(line.substr(0, blank));
  const auto status = number_in(line.substr(blank + 1));
  if (!number || !status) return;
  const auto rank = std::ranges::find_if(
      ranks_, [&](const Rank& other) { return other.pid() < 0 && other.number() == *number; });
  if (rank == ranks_.end() || rank->has_ended()) return;
  for (size_t channel = 0; channel < Rank::kChannels; ++channel) rank->read(channel);
  feed_.flush();
  rank->ended(*status, clock_.now());
  if (!rank->failed() || first_told_ || ending_.asked()) return;
  first_told_ = static_cast<size_t>(rank - ranks_.begin());
  announce("rank-exited", described(*rank));
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
  if (!ending_.main_ended()) return false;
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
  for (Rank& rank : ranks_)
    for (size_t channel = 0; channel < Rank::kChannels; ++channel)
      while (rank.read(channel)) feed_.flush();
  if (told_) on_told();
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
  const Rank& decisive = ranks_[first_failed_.value_or(0)];
  decisive.describe(status);
  ending_.describe(status);
  if (const std::string why = first_failed_ ? out_of_memory() : ""; !why.empty()) {
    status.out_of_memory = true;
    status.reason = why;
  }
  if (first_failed_ && spec_.process_count > 1) status.reason = who_failed(decisive, status.reason);
  if (!no_children_) status.reason += "; some of its processes could not be killed";
}

// Empty: none of its processes was killed for want of memory.
std::string Attempt::out_of_memory() const {
  if (group_->out_of_memory_kills() == 0) return "";
  if (spec_.limits.memory_bytes == 0) return "killed: out of memory";
  return fmt::format("killed: out of memory (limit {})", size_text(spec_.limits.memory_bytes));
}

// "rank 3: exited with code 1; it printed last: ..."
std::string Attempt::described(const Rank& rank) const {
  ExitStatus status;
  rank.describe(status);
  const std::string why = out_of_memory();
  return fmt::format("{}: {}{}", rank.name(), why.empty() ? status.reason : why, rank.last_words());
}

// mpirun fails when one of its ranks has. Which one its parent has told, or mpirun itself tells.
std::string Attempt::who_failed(const Rank& rank, const std::string& reason) const {
  if (first_told_) return described(ranks_[*first_told_]);
  const int behind = spec_.pipes.empty() ? -1 : launch::failed_rank_in(rank.printed_last());
  if (behind < 0) return fmt::format("{}: {}{}", rank.name(), reason, rank.last_words());
  const auto found = std::ranges::find_if(
      ranks_, [&](const Rank& other) { return other.pid() < 0 && other.number() == behind; });
  return fmt::format("rank {}: {}{}", behind, reason, found == ranks_.end() ? "" : found->last_words());
}

}  // namespace slipway::node
