#include "node/supervisor_ending.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway::node {

void Ending::ask(Cause cause, std::string reason, Duration grace, bool kill, Monotonic now) {
  if (!main_ended_ && !cause_) {
    cause_ = cause;
    reason_ = std::move(reason);
    grace_ = grace;
    terminate_ = !kill;
  }
  kill_ordered_ = kill_ordered_ || kill;
  const Monotonic at = kill ? now : now + grace;
  kill_at_ = kill_at_ ? std::min(*kill_at_, at) : at;
}

void Ending::main_process_ended(Monotonic now) {
  main_ended_ = true;
  if (!cause_ || from_within()) kill_at_ = kill_at_ ? std::min(*kill_at_, now + kLinger) : now + kLinger;
}

Ending::Action Ending::due(Monotonic now) {
  if (terminate_) {
    terminate_ = false;
    return Action::kTerminate;
  }
  if (!kill_at_ || now < *kill_at_) return Action::kNone;
  if (!killing_since_) {
    killing_since_ = now;
    grace_ran_out_ = cause_.has_value() && !kill_ordered_;
  }
  kill_at_ = now + kKillAgain;
  return Action::kKill;
}

std::optional<Monotonic> Ending::next() const {
  if (terminate_) return Monotonic::min();
  return kill_at_;
}

void Ending::describe(ExitStatus& status) const {
  if (!cause_ || from_within()) return;
  status.canceled = *cause_ == Cause::kCancel;
  status.timed_out = *cause_ == Cause::kTimeLimit;
  status.killed_after_grace = grace_ran_out_;
  status.reason = reason_;
  if (grace_ran_out_)
    status.reason += fmt::format("; it was killed, since it went on for {} after SIGTERM", to_text(grace_));
}

}  // namespace slipway::node
