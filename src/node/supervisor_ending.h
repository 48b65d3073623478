// When and how a job is made to end: pure decisions about signals, without a process in sight.
//
// 1. Asked to end (cancel, time limit, data that cannot be trusted), the whole group gets SIGTERM at once and
// SIGKILL after the grace; whoever of it
//    still works when the main process is gone has the rest of the grace.
// 2. When the main processes have ended by themselves, the others are given a moment to write their last
// bytes (`a | tee b`), then
//    SIGKILL: nothing outlives the run.
// 3. What is asked after the main processes have ended changes nothing about how they ended.
// 4. Of several main processes one may end the others; whoever asks from outside meanwhile only hurries it.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "protocol/node.h"

namespace slipway::node {

class Ending {
 public:
  // The last two come from the job itself: a rank of several failed, or the leader ended well and the rest
  // is not needed any more. How the attempt ended is then said by that rank.
  enum class Cause { kCancel, kTimeLimit, kData, kRankFailed, kLeaderDone };
  enum class Action { kNone, kTerminate, kKill };

  static constexpr Duration kLinger = std::chrono::milliseconds(500);
  static constexpr Duration kKillAgain = std::chrono::milliseconds(100);

  // `kill`: at once, without a grace.
  void ask(Cause cause, std::string reason, Duration grace, bool kill, Monotonic now);
  void main_process_ended(Monotonic now);

  // What to do now. kKill comes again and again until the caller finds the group empty and stops asking.
  Action due(Monotonic now);
  std::optional<Monotonic> next() const;  // when to ask again

  bool asked() const { return cause_.has_value(); }
  bool main_ended() const { return main_ended_; }
  // Since when SIGKILL is being sent.
  std::optional<Monotonic> killing_since() const { return killing_since_; }
  // Writes what was asked, and whether the grace ran out, into the status.
  void describe(ExitStatus& status) const;

 private:
  // The job itself ended the rest of it.
  bool from_within() const { return cause_ == Cause::kRankFailed || cause_ == Cause::kLeaderDone; }

  std::optional<Cause> cause_;
  std::string reason_;
  Duration grace_{0};
  bool terminate_ = false;  // SIGTERM is due
  bool main_ended_ = false;
  bool grace_ran_out_ = false;
  bool kill_ordered_ = false;
  std::optional<Monotonic> kill_at_;
  std::optional<Monotonic> killing_since_;
};

}  // namespace slipway::node
