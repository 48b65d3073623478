#include "compute/engines/slurm/slurm_allocator.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "compute/engines/slurm/states.h"

namespace slipway::compute {
namespace {

using std::chrono::steady_clock;

constexpr Duration kLookEvery = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(30);
// Of its time the controller spends no more than this part on our questions.
constexpr int kShareOfLooking = 20;
constexpr Duration kStatusEvery = std::chrono::minutes(1);
constexpr Duration kLongestBackoff = std::chrono::seconds(10);

int64_t number_of(const std::string& job) {
  int64_t number = 0;
  std::from_chars(job.data(), job.data() + job.size(), number);
  return number;
}

std::string own_user() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry != nullptr ? entry->pw_name : "root";
}

}  // namespace

SlurmAllocator::SlurmAllocator(const ClusterSpec& spec, SlurmOptions options, AllocationSink sink)
    : name_(spec.name), options_(std::move(options)), sink_(std::move(sink)), spec_(spec) {
  thread_ = std::thread([this] { loop(); });
}

SlurmAllocator::~SlurmAllocator() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// The mutex is held.
Track SlurmAllocator::new_track(const AllocationRequest& request) {
  Track track;
  track.request = request;
  track.order = next_order_++;
  return track;
}

void SlurmAllocator::request(const AllocationRequest& request) {
  const std::lock_guard lock(mutex_);
  if (tracks_.try_emplace(request.key, new_track(request)).second) changed_.notify_all();
}

void SlurmAllocator::take_up(const AllocationRequest& request, const std::string& job, bool up) {
  const std::lock_guard lock(mutex_);
  Track track = new_track(request);
  track.job = number_of(job);
  track.phase = track.job > 0 ? TrackPhase::kAccepted : TrackPhase::kUnsure;
  track.up = up;
  tracks_.try_emplace(request.key, std::move(track));
  next_look_ = {};
  changed_.notify_all();
}

void SlurmAllocator::nodes_are_up(const AllocationKey& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = tracks_.find(key); found != tracks_.end()) found->second.up = true;
}

void SlurmAllocator::release(const AllocationKey& key, Duration grace) {
  const std::lock_guard lock(mutex_);
  const auto found = tracks_.find(key);
  if (found == tracks_.end()) return;
  const Monotonic at = steady_clock::now() + grace;
  found->second.cancel_at = std::min(found->second.cancel_at.value_or(at), at);
  changed_.notify_all();
}

std::optional<AllocationView> SlurmAllocator::find(const AllocationKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = tracks_.find(key);
  if (found == tracks_.end()) return std::nullopt;
  const Track& track = found->second;
  AllocationView view;
  if (track.job > 0) view.job = std::to_string(track.job);
  view.running = track.up;
  if (track.up) return view;
  if (!status_.problem.empty()) {
    view.waiting_because = status_.problem;
  } else if (track.phase == TrackPhase::kToSubmit) {
    view.waiting_because = "is about to be submitted to Slurm";
  } else if (track.phase == TrackPhase::kUnsure) {
    view.waiting_because = "Slurm is being asked whether it has taken the job";
  } else {
    view.waiting_because = track.seen.id != 0 ? waiting_reason(track.seen)
                                              : fmt::format("Slurm job {} was just submitted", track.job);
  }
  return view;
}

bool SlurmAllocator::goes_on(const AllocationKey& key) {
  int64_t job = 0;
  std::string request;
  std::unique_ptr<SlurmGateway> fresh;
  {
    const std::lock_guard lock(mutex_);
    const auto found = tracks_.find(key);
    if (found == tracks_.end() || found->second.cancel_at) return false;
    job = found->second.job;
    request = found->second.request.id;
    next_look_ = {};
    fresh = make_gateway();
  }
  changed_.notify_all();
  const std::lock_guard asking(asking_);
  if (asked_ == nullptr) asked_ = std::move(fresh);
  const auto seen = asked_->job(job);
  if (!seen) asked_.reset();
  return seen && *seen && phase_of(**seen) == SlurmPhase::kRunning &&
         request_in_comment((*seen)->comment) == request;
}

void SlurmAllocator::cluster_changed(const ClusterSpec& spec) {
  {
    const std::lock_guard lock(mutex_);
    spec_ = spec;
    settings_changed_ = true;
  }
  changed_.notify_all();
  const std::lock_guard asking(asking_);
  asked_.reset();
}

AllocatorStatus SlurmAllocator::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void SlurmAllocator::end_waiting(Duration within) {
  std::unique_lock lock(mutex_);
  const Monotonic now = steady_clock::now();
  for (auto& [key, track] : tracks_)
    if (!track.up) track.cancel_at = now;
  changed_.notify_all();
  changed_.wait_for(lock, within, [&] {
    return std::ranges::none_of(tracks_, [](const auto& entry) { return !entry.second.up; });
  });
}

std::unique_ptr<SlurmGateway> SlurmAllocator::make_gateway() const {
  if (spec_.slurm.endpoint == kSlurmCommands) return make_command_gateway();
  auto token = options_.open_token(spec_.key());
  if (!token) log_error("slurm.token_unreadable", {{"cluster", spec_.name}, {"error", token.error()}});
  return make_rest_gateway(spec_.slurm.endpoint, spec_.slurm.user.empty() ? own_user() : spec_.slurm.user,
                           token ? std::move(*token) : Secret());
}

void SlurmAllocator::open_gateway() {
  const std::lock_guard lock(mutex_);
  if (!settings_changed_) return;
  settings_changed_ = false;
  gateway_ = make_gateway();
  program_.clear();
  failures_ = 0;
  not_before_ = next_look_ = next_status_ = {};
}

// The mutex is held.
Monotonic SlurmAllocator::next_work() const {
  Monotonic next = std::max(next_status_, not_before_);
  if (!tracks_.empty()) next = std::min(next, std::max(next_look_, not_before_));
  for (const auto& [key, track] : tracks_) {
    if (track.cancel_at && track.phase == TrackPhase::kAccepted && !track.canceled)
      next = std::min(next, std::max(*track.cancel_at, not_before_));
    if (track.phase == TrackPhase::kToSubmit)
      next = track.cancel_at ? Monotonic() : std::min(next, not_before_);
  }
  return next;
}

bool SlurmAllocator::wait_for_work() {
  std::unique_lock lock(mutex_);
  while (!stopping_ && !settings_changed_) {
    const Monotonic next = next_work();
    if (next <= steady_clock::now()) break;
    changed_.wait_until(lock, next);
  }
  return !stopping_;
}

void SlurmAllocator::loop() {
  while (wait_for_work()) {
    open_gateway();
    drop_unsubmitted();
    submit_all();
    cancel_due();
    look_at_jobs();
    look_at_cluster();
  }
}

void SlurmAllocator::cancel_due() {
  std::vector<int64_t> due;
  {
    const std::lock_guard lock(mutex_);
    const Monotonic now = steady_clock::now();
    if (now < not_before_) return;
    for (auto& [key, track] : tracks_) {
      if (!track.cancel_at || now < *track.cancel_at || track.phase != TrackPhase::kAccepted ||
          track.canceled)
        continue;
      track.canceled = true;
      due.push_back(track.job);
    }
  }
  for (const int64_t job : due) {
    log_info("slurm.cancel", {{"job", job}});
    if (const Status canceled = gateway_->cancel(job); !canceled) note_problem(canceled.error());
  }
  if (due.empty()) return;
  // They are over in a moment.
  const std::lock_guard lock(mutex_);
  const Duration soon = std::max<Duration>(kLookEvery, status_.look_time);
  next_look_ = std::min<Monotonic>(next_look_, steady_clock::now() + soon);
}

void SlurmAllocator::look_at_jobs() {
  {
    const std::lock_guard lock(mutex_);
    if (tracks_.empty() || steady_clock::now() < std::max(next_look_, not_before_)) return;
  }
  const Monotonic begin = steady_clock::now();
  auto jobs = gateway_->jobs();
  if (!jobs) return note_problem(jobs.error());
  note_answer();
  std::map<std::string, std::vector<SlurmJob>> by_request;
  for (SlurmJob& job : *jobs) by_request[request_in_comment(job.comment)].push_back(std::move(job));

  std::vector<AllocationEvent> events;
  std::vector<int64_t> cancel;
  {
    const std::lock_guard lock(mutex_);
    const Monotonic now = steady_clock::now();
    status_.look_time = std::chrono::duration_cast<Duration>(now - begin);
    next_look_ = now + std::clamp<Duration>(status_.look_time * kShareOfLooking, kLookEvery, kLongestPause);
    std::vector<AllocationKey> keys;
    keys.reserve(tracks_.size());
    for (const auto& [key, track] : tracks_) keys.push_back(key);
    for (const AllocationKey& key : keys) {
      Track& track = tracks_.at(key);
      carry_out(key, look(track, by_request[track.request.id], now), events, cancel);
    }
  }
  changed_.notify_all();
  for (const int64_t job : cancel) {
    log_info("slurm.cancel", {{"job", job}});
    if (const Status canceled = gateway_->cancel(job); !canceled) note_problem(canceled.error());
  }
  tell(events);
}

// The mutex is held.
void SlurmAllocator::carry_out(const AllocationKey& key, const std::vector<Finding>& findings,
                               std::vector<AllocationEvent>& events, std::vector<int64_t>& cancel) {
  using Kind = Finding::Kind;
  for (const Finding& finding : findings) {
    switch (finding.kind) {
      case Kind::kAdopted:
        events.push_back({.kind = AllocationEventKind::kAccepted,
                          .key = key,
                          .job = std::to_string(finding.job),
                          .reason = ""});
        break;
      case Kind::kSubmitAgain: {
        Track& track = tracks_.at(key);
        track.phase = TrackPhase::kToSubmit;
        track.job = 0;
        track.missing = 0;
        track.seen = {};
        if (!finding.reason.empty())
          log_warning("slurm.job_forgotten", {{"run", key.run}, {"why", finding.reason}});
        break;
      }
      case Kind::kEnded:
        events.push_back({.kind = AllocationEventKind::kEnded,
                          .key = key,
                          .job = std::to_string(finding.job),
                          .end = finding.end,
                          .reason = finding.reason});
        break;
      case Kind::kCancel: cancel.push_back(finding.job); break;
      case Kind::kGone:
        tracks_.erase(key);
        events.push_back({.kind = AllocationEventKind::kGone,
                          .key = key,
                          .job = std::to_string(finding.job),
                          .end = finding.end,
                          .reason = finding.reason});
        break;
    }
  }
}

void SlurmAllocator::look_at_cluster() {
  std::string partition;
  {
    const std::lock_guard lock(mutex_);
    if (steady_clock::now() < std::max(next_status_, not_before_)) return;
    partition = job_order({}, spec_).partition;
  }
  auto version = gateway_->version();
  if (!version) return note_problem(version.error());
  auto nodes = gateway_->nodes(partition);
  if (!nodes) return note_problem(nodes.error());
  note_answer();
  const std::lock_guard lock(mutex_);
  next_status_ = steady_clock::now() + kStatusEvery;
  status_.version = std::move(*version);
  status_.nodes = *nodes;
  if (nodes->total > 0) return;
  status_.problem =
      partition.empty() ? "Slurm has no nodes" : fmt::format("Slurm has no partition '{}'", partition);
  status_.next = "sinfo shows what there is; slipway compute update changes the partition";
}

void SlurmAllocator::note_problem(const Error& error) {
  log_warning("slurm.trouble", {{"cluster", name_}, {"error", error}});
  const std::lock_guard lock(mutex_);
  status_.reachable = error.code == ErrorCode::kPermissionDenied && status_.reachable;
  status_.problem = error.message;
  status_.next = error.next;
  ++failures_;
  const Duration wait =
      std::min<Duration>(std::chrono::milliseconds(500) * (1 << std::min(failures_ - 1, 8)), kLongestBackoff);
  not_before_ = steady_clock::now() + wait;
}

void SlurmAllocator::note_answer() {
  const std::lock_guard lock(mutex_);
  status_.reachable = true;
  status_.problem.clear();
  status_.next.clear();
  failures_ = 0;
}

void SlurmAllocator::tell(const std::vector<AllocationEvent>& events) const {
  for (const AllocationEvent& event : events) sink_(event);
}

}  // namespace slipway::compute
