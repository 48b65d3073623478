#include "node/agent_supervisor.h"

#include <signal.h>

#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/subprocess.h"
#include "node/agent_spawn.h"
#include "node/supervisor.h"

namespace slipway::node {
namespace {

// Once killed, a process is gone as soon as the kernel gets round to it.
constexpr Duration kDying = std::chrono::seconds(2);

}  // namespace

Status SupervisorHandle::start(int mount_order) {
  SLIPWAY_ASSIGN(child_, spawn_supervisor(program_, folder_, mount_order));
  return {};
}

bool SupervisorHandle::lives() {
  if (child_ != 0) {
    const auto status = try_reap(child_);
    if (!status) return true;
    child_ = 0;
    how_it_ended_ = describe_wait_status(*status);
  }
  return FileLock::is_held(folder_ / "lock");
}

Status SupervisorHandle::ask_to_end(const CancelOrder& order) const {
  const json::object text{{"reason", order.reason},
                          {"grace_seconds", std::chrono::duration<double>(order.grace).count()},
                          {"kill", order.kill}};
  return replace_file(folder_ / "cancel.json", json::serialize(text));
}

bool SupervisorHandle::await_end(Duration longest) {
  const Monotonic end = std::chrono::steady_clock::now() + longest;
  for (Duration step(200); lives(); step = std::min(step * 2, Duration(20'000))) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(step);
  }
  return true;
}

Status SupervisorHandle::end_by_force(const std::string& why) {
  if (child_ != 0) ::kill(child_, SIGKILL);
  if (const auto holder = FileLock::holder(folder_ / "lock")) ::kill(holder->pid, SIGKILL);
  await_end(kDying);
  return end_orphans(folder_.string(), why);
}

}  // namespace slipway::node
