#include "node/agent_attempt.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/log.h"
#include "data/mount/attach.h"
#include "environments/build/lock.h"
#include "journal/writer.h"
#include "launch/plan.h"
#include "node/agent_preparation.h"
#include "node/agent_prepare.h"

namespace slipway::node {
namespace {

constexpr size_t kSmallBatch = 64 << 10;
// How long a follower waits when nothing wakes it: inotify does, and where it cannot be had, looking often.
constexpr Duration kWatchedWait = std::chrono::seconds(1);
constexpr Duration kUnwatchedWait = std::chrono::milliseconds(50);

}  // namespace

HeldAttempt::HeldAttempt(const AttemptSite& site, AttemptKey key, Standing standing,
                         std::function<void()> on_done)
    : site_(site),
      key_(std::move(key)),
      name_(to_text(key_)),
      folder_(site.paths.attempt(key_)),
      standing_(standing),
      on_done_(std::move(on_done)),
      supervisor_(site.supervisor, folder_),
      small_pause_(site.times.coalesce),
      thread_([this] { live(); }) {}

HeldAttempt::~HeldAttempt() {
  stop();
  thread_.join();
}

void HeldAttempt::cancel(const CancelOrder& order) {
  if (!signals_.cancel(order)) return;
  log_info("attempt.cancel",
           {{"attempt", name_}, {"reason", order.reason}, {"kill", order.kill ? "yes" : "no"}});
  // Written here and not by the attempt's thread, which may be waiting for the server. Before the folder is
  // there this fails, and `begin` sees the order when it has made the folder.
  const Status asked = supervisor_.ask_to_end(order);
  if (!asked) log_info("attempt.cancel_waits", {{"attempt", name_}, {"error", asked.error()}});
}

void HeldAttempt::live() {
  Step step = standing_ == Standing::kStarted ? attach() : begin();
  if (step == Step::kGoOn) step = follow();
  if (running_outputs_ != nullptr) running_outputs_->join();
  if (step == Step::kGoOn) step = finish();
  if (step == Step::kFenced) remove_fenced();
  done_ = true;
  on_done_();
}

HeldAttempt::Step HeldAttempt::begin() {
  if (const Step claimed = claim(); claimed != Step::kGoOn) return claimed;
  if (Status made = site_.folders.make(folder_); !made) return give_up(made.error());
  open_journal();
  if (const auto canceled = signals_.canceled()) return close_unstarted(*canceled);
  return prepare_and_start();
}

HeldAttempt::Step HeldAttempt::prepare_and_start() {
  PreparationLog log(folder_, *shipper_, signals_);
  auto prepared = prepare_attempt(site_, *order_, folder_, standing_, signals_, log);
  log.close();
  if (signals_.interrupted()) return interruption();
  if (const auto canceled = signals_.canceled()) return close_unstarted(*canceled);
  if (prepared) {
    ports_ = std::move(prepared->ports);
    return start(*prepared);
  }
  // With the failure the server closes the attempt: whatever explains it must be there before.
  log.deliver();
  return give_up(prepared.error());
}

HeldAttempt::Step HeldAttempt::claim() {
  const Status claimed = signals_.insist([this]() -> Status {
    auto answer = site_.server.post(site_.server.attempt_target(key_, "claim"),
                                    {{"platform", environments::platform()}});
    if (!answer && answer.error().code == ErrorCode::kNotFound)
      return fail(ErrorCode::kStale, answer.error().message);
    if (!answer) return fail(std::move(answer).error());
    auto order = attempt_order_from_json(*answer);
    if (!order) return fail(ErrorCode::kInvalidArgument, order.error().message);
    if (order->key != key_)
      return fail(ErrorCode::kInvalidArgument, "the server sent the order of another attempt");
    order_ = std::move(*order);
    return {};
  });
  if (signals_.interrupted()) return interruption();
  if (claimed) return Step::kGoOn;
  log_info("attempt.not_claimed", {{"attempt", name_}, {"error", claimed.error()}});
  return Step::kFenced;
}

HeldAttempt::Step HeldAttempt::start(const PreparedAttempt& prepared) {
  SLIPWAY_FAILPOINT("agent.before_spec");
  order_->environment.lock.clear();  // has done its work, and may be long
  if (Status written = launch::write_spec(folder_, prepared.spec, *order_); !written)
    return give_up(written.error());
  SLIPWAY_FAILPOINT("agent.after_spec");
  if (key_.attempt > 1)
    if (Status noted = note_restored(folder_); !noted) return give_up(noted.error());
  open_account();
  if (Status started = supervisor_.start(prepared.mount_order.get()); !started)
    return give_up(started.error());
  SLIPWAY_FAILPOINT("agent.after_spawn");
  log_info("attempt.started", {{"attempt", name_}});
  return Step::kGoOn;
}

// Ends an attempt whose end cannot be told by its journal: it could not be started, or the journal is beyond
// repair.
HeldAttempt::Step HeldAttempt::give_up(const Error& why) {
  if (why.code == ErrorCode::kStale) return Step::kFenced;
  log_warning("attempt.failed", {{"attempt", name_}, {"error", why}});
  const json::object body{{"reason", sentence(why)}, {"ending", site_.ending.load()}};
  const Status told = signals_.insist([&]() -> Status {
    auto answer = site_.server.post(site_.server.attempt_target(key_, "failed"), body);
    if (!answer) return fail(std::move(answer).error());
    return {};
  });
  if (signals_.stopped()) return Step::kStopped;
  // Told, or not wanted: either way nothing of it is needed here any more.
  if (!told) log_warning("attempt.failure_refused", {{"attempt", name_}, {"error", told.error()}});
  return Step::kFenced;
}

// Canceled before there was a process: the journal says so, under the lock a supervisor would have held.
HeldAttempt::Step HeldAttempt::close_unstarted(const CancelOrder& order) {
  auto lock = FileLock::try_take(folder_ / "lock");
  if (!lock) return give_up(lock.error());
  if (*lock) {
    auto journal = journal::Writer::open(folder_ / "journal");
    if (!journal) return give_up(journal.error());
    if (!journal->ended()) {
      const Timestamp now = SystemClock().now();
      const ExitStatus exit{.code = 0,
                            .signal = 0,
                            .out_of_memory = false,
                            .timed_out = false,
                            .canceled = true,
                            .killed_after_grace = false,
                            .reason = order.reason.empty() ? "canceled before it started" : order.reason,
                            .started = now,
                            .ended = now};
      journal->add(journal::Kind::kExit, now, json::serialize(to_json(exit)));
      if (Status written = journal->flush(); !written) return give_up(written.error());
    }
  }
  open_account();
  return Step::kGoOn;
}

HeldAttempt::Step HeldAttempt::attach() {
  if (auto order = launch::read_order(folder_)) {
    order_ = std::move(*order);
  } else {
    log_warning("attempt.order_unreadable", {{"attempt", name_}, {"error", order.error()}});
  }
  open_journal();
  open_account();
  log_info("attempt.attached", {{"attempt", name_}, {"lives", supervisor_.lives() ? "yes" : "no"}});
  const Status resumed = signals_.insist([this]() -> Status { return shipper_->resume(); });
  if (signals_.interrupted()) return interruption();
  return resumed ? Step::kGoOn : after_failed_round(resumed.error());
}

void HeldAttempt::open_journal() {
  shipper_.emplace(site_.server, key_, folder_, [this](const std::vector<std::string>& files) {
    if (keeper_ == nullptr) return;
    keeper_->ask(files);
    running_outputs_->hurry();
  });
}

void HeldAttempt::open_account() {
  watched_ = site_.watch.watch(folder_, [this] { signals_.wake(); });
  if (order_) {
    keeper_ = std::make_unique<OutputKeeper>(site_.server, *order_, folder_);
    data_outputs_ = std::make_unique<DataOutputs>(site_.server, *order_, folder_);
    running_outputs_ = std::make_unique<RunningOutputs>(
        *keeper_, *data_outputs_, site_.uploads, site_.times.outputs_every, site_.times.outputs_settled);
  }
}

HeldAttempt::Step HeldAttempt::follow() {
  while (!shipper_->ended()) {
    if (signals_.interrupted()) return interruption();
    const auto sent = shipper_->ship();
    if (running_outputs_ != nullptr) running_outputs_->look();
    Step step = Step::kGoOn;
    if (!sent) {
      step = after_failed_round(sent.error());
    } else if (*sent > 0) {
      backoff_.reset();
      rest(*sent);
    } else {
      step = look_after_supervisor();
      if (step == Step::kGoOn && !seen_dead_) await_more();
    }
    if (step != Step::kGoOn) return step;
  }
  return Step::kGoOn;
}

// A chatty job is sent in batches that come the slower the longer it chats; a silent one's first words go at
// once.
void HeldAttempt::rest(size_t sent) {
  if (sent >= kSmallBatch) {
    small_pause_ = site_.times.coalesce;
    return;
  }
  signals_.pause(small_pause_);
  small_pause_ = std::min(small_pause_ * 2, site_.times.largest_pause);
}

void HeldAttempt::await_more() {
  shipper_->shrink();
  const Monotonic begin = std::chrono::steady_clock::now();
  signals_.wait(watched_.works() ? kWatchedWait : kUnwatchedWait);
  if (std::chrono::steady_clock::now() - begin > 2 * site_.times.largest_pause)
    small_pause_ = site_.times.coalesce;
  signals_.pause(site_.times.coalesce);
}

HeldAttempt::Step HeldAttempt::after_failed_round(const Error& error) {
  switch (verdict(error)) {
    case Verdict::kStale: return Step::kFenced;
    case Verdict::kRepeat: {
      // The server's absence must not keep the processes of a dead supervisor alive.
      const Step step = look_after_supervisor();
      signals_.pause(backoff_.next());
      return step;
    }
    case Verdict::kRefused: break;
  }
  log_warning("attempt.journal_refused", {{"attempt", name_}, {"error", error}});
  if (!closed_) {
    // Cutting a torn end may be all that is needed.
    if (!supervisor_.lives()) return close_for_supervisor();
    closed_ = true;
    if (supervisor_.end_by_force("its journal was damaged")) return Step::kGoOn;
  }
  return give_up(error);
}

HeldAttempt::Step HeldAttempt::look_after_supervisor() {
  if (supervisor_.lives()) {
    seen_dead_ = false;
    const auto canceled = signals_.canceled();
    if (!canceled || !canceled->kill) return Step::kGoOn;
    const Monotonic now = std::chrono::steady_clock::now();
    if (!kill_by_) kill_by_ = now + site_.times.kill_patience;
    if (now < *kill_by_) return Step::kGoOn;
    log_warning("attempt.killed_by_force", {{"attempt", name_}});
    if (Status ended = supervisor_.end_by_force(canceled->reason); !ended) return give_up(ended.error());
    return Step::kGoOn;
  }
  // Its last words may have been written after the journal was read: they are looked for once more.
  if (!std::exchange(seen_dead_, true) || closed_) return Step::kGoOn;
  return close_for_supervisor();
}

HeldAttempt::Step HeldAttempt::close_for_supervisor() {
  const std::string& how = supervisor_.how_it_ended();
  const std::string why = how.empty() ? "the supervisor of this run was killed or its machine restarted"
                                      : fmt::format("the supervisor of this run ended unexpectedly: {}", how);
  log_warning("attempt.supervisor_lost", {{"attempt", name_}, {"why", why}});
  closed_ = true;
  if (Status closed = supervisor_.end_by_force(why); !closed) return give_up(closed.error());
  return Step::kGoOn;
}

// Insists on keeping outputs. Those that the server does not want as a whole are lost.
HeldAttempt::Step HeldAttempt::keep(const std::function<Status()>& all, std::string& lost) {
  const Status kept = signals_.insist(all);
  if (signals_.interrupted()) return interruption();
  if (kept) return Step::kGoOn;
  if (verdict(kept.error()) == Verdict::kStale) return Step::kFenced;
  log_warning("attempt.outputs_refused", {{"attempt", name_}, {"error", kept.error()}});
  lost = fmt::format("the run's outputs could not be kept: {}", sentence(kept.error()));
  return Step::kGoOn;
}

HeldAttempt::Step HeldAttempt::finish() {
  std::string lost;
  if (keeper_ != nullptr) {
    if (const Step kept = keep([this] { return keeper_->keep_all(); }, lost); kept != Step::kGoOn)
      return kept;
    if (const Step kept = keep([this] { return data_outputs_->keep_all(); }, lost); kept != Step::kGoOn)
      return kept;
    if (lost.empty()) lost = data_outputs_->lost();
  }
  SLIPWAY_FAILPOINT("agent.before_finished");
  const Status finished = signals_.insist([&]() -> Status {
    auto answer = site_.server.post(site_.server.attempt_target(key_, "finished"),
                                    json::object{{"ending", site_.ending.load()}, {"lost", lost}});
    if (!answer) return fail(std::move(answer).error());
    return {};
  });
  if (!finished && signals_.interrupted()) return interruption();
  if (!finished) log_warning("attempt.finish_refused", {{"attempt", name_}, {"error", finished.error()}});
  SLIPWAY_FAILPOINT("agent.after_finished");
  if (!supervisor_.await_end(site_.times.kill_patience)) {
    const Status ended = supervisor_.end_by_force("the supervisor did not end after its job");
    if (!ended) log_warning("attempt.supervisor_stays", {{"attempt", name_}, {"error", ended.error()}});
  }
  log_info("attempt.finished", {{"attempt", name_}});
  remove();
  return Step::kGone;
}

void HeldAttempt::remove_fenced() {
  const CancelOrder kill{
      .reason = "the server has given this attempt up", .grace = Duration(0), .kill = true};
  std::error_code error;
  if (std::filesystem::exists(folder_ / "spec.json", error)) {
    if (supervisor_.lives()) {
      (void)supervisor_.ask_to_end(kill);
      supervisor_.await_end(site_.times.kill_patience);
    }
    const Status ended = supervisor_.end_by_force(kill.reason);
    if (!ended) log_warning("attempt.not_ended", {{"attempt", name_}, {"error", ended.error()}});
  }
  log_info("attempt.dropped", {{"attempt", name_}});
  remove();
}

void HeldAttempt::remove() {
  watched_ = {};
  shipper_.reset();
  running_outputs_.reset();
  data_outputs_.reset();
  keeper_.reset();
  // Where the supervisor had no view of its own; emptying the folder must not reach into a mount.
  data::detach_dead_mounts(folder_);
  const Status removed = site_.folders.remove(folder_);
  if (!removed) log_warning("attempt.folder_kept", {{"attempt", name_}, {"error", removed.error()}});
}

}  // namespace slipway::node
