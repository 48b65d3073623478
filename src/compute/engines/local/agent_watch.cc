#include "compute/engines/local/agent_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <algorithm>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/log.h"

namespace slipway::compute {

namespace {

using std::chrono::steady_clock;

constexpr Duration kLongestRestartWait = std::chrono::minutes(1);
constexpr Duration kLookAgain = std::chrono::milliseconds(50);
constexpr Duration kTryRemovalAgain = std::chrono::seconds(5);
constexpr Duration kKillAgain = std::chrono::seconds(1);

Status remove_attempt(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::remove_all(folder, failed);
  if (failed) return fail(errno_error(failed.value(), fmt::format("remove {}", folder.string())));
  return {};
}

}  // namespace

AgentWatch::AgentWatch(LocalEngineOptions options, NodeEventSink sink)
    : options_(std::move(options)), sink_(std::move(sink)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) abort_because("no descriptor is left for the watch over the agents");
  options_.home = std::filesystem::absolute(options_.home);
  if (options_.program.empty()) options_.program = own_program();
  if (!options_.clear_attempt) options_.clear_attempt = remove_attempt;
  thread_ = std::thread([this] { run(); });
}

AgentWatch::~AgentWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake();
  thread_.join();
}

void AgentWatch::wake() const {
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

AgentWatch::Node* AgentWatch::enter(const NodeOrder& order, Status& refusal) {
  const std::lock_guard lock(mutex_);
  const auto [place, added] = nodes_.try_emplace(order.node);
  Node& node = place->second;
  if (added) {
    node.order = order;
    return &node;
  }
  if (node.unwanted || (node.phase != Phase::kUp && node.phase != Phase::kDown))
    refusal =
        fail(ErrorCode::kConflict, fmt::format("node {} is being stopped", order.node), "start another one");
  return nullptr;
}

Status AgentWatch::start(const NodeOrder& order) {
  Status outcome;
  Node* const node = enter(order, outcome);
  if (node == nullptr) return outcome;
  const auto written = folder(order.node).write(order, options_.url, options_.ca_file, options_.make_token);
  SLIPWAY_FAILPOINT("local_engine.before_spawn");
  {
    const std::lock_guard lock(mutex_);
    node->preparing = false;
    if (!written)
      outcome = fail(written.error());
    else if (node->phase == Phase::kDown && !node->unwanted)
      outcome = bring_up(*node, *written);
    if (!outcome || node->unwanted) begin_removal(*node);
  }
  wake();
  return outcome;
}

void AgentWatch::take_up(const NodeOrder& order) {
  Status outcome;
  Node* const node = enter(order, outcome);
  if (node == nullptr) return;
  const auto written = folder(order.node).write(order, options_.url, options_.ca_file, options_.make_token);
  {
    const std::lock_guard lock(mutex_);
    node->preparing = false;
    // A folder that cannot be written now may still be whole from before.
    if (!written) log_warning("node.folder_not_written", {{"node", order.node}, {"error", written.error()}});
    if (node->unwanted)
      begin_removal(*node);
    else if (node->phase == Phase::kDown)
      if (const Status up = bring_up(*node, written && *written); !up) count_death(*node, up.error().message);
  }
  wake();
}

void AgentWatch::discard(const NodeId& id) {
  {
    const std::lock_guard lock(mutex_);
    const auto [place, added] = nodes_.try_emplace(id);
    if (!added) return;
    Node& node = place->second;
    node.order.node = id;
    node.preparing = false;
    node.agent = AgentProcess::adopt(folder(id).lock());
    if (node.agent)
      end_agent(node, Phase::kStopping);
    else
      begin_removal(node);
  }
  wake();
}

void AgentWatch::stop(const NodeId& id) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) return;
    Node& node = found->second;
    if (node.preparing) {
      node.unwanted = true;
    } else if (node.phase == Phase::kUp) {
      end_agent(node, Phase::kStopping);
    } else if (node.phase == Phase::kHalting) {
      node.phase = Phase::kStopping;
    } else if (node.phase == Phase::kDown || node.phase == Phase::kHalted) {
      begin_removal(node);
    }
  }
  wake();
}

Status AgentWatch::halt(Duration within) {
  std::unique_lock lock(mutex_);
  for (auto& [id, node] : nodes_) {
    if (node.phase == Phase::kUp) {
      end_agent(node, Phase::kHalting);
      node.due = std::min(node.due, steady_clock::now() + within * 3 / 4);
    } else if (node.phase == Phase::kDown) {
      node.phase = Phase::kHalted;
      node.due = Monotonic::max();
    }
  }
  wake();
  const bool all = ended_.wait_for(lock, within, [this] {
    return std::ranges::none_of(nodes_, [](const auto& entry) { return entry.second.agent.has_value(); });
  });
  if (all) return {};
  return fail(ErrorCode::kTimeout, fmt::format("some agents have not ended within {}", to_text(within)),
              "slipway up takes them over, or kill them by the pids that slipway compute nodes showed");
}

std::vector<EngineNode> AgentWatch::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<EngineNode> nodes;
  nodes.reserve(nodes_.size());
  for (const auto& [id, node] : nodes_) {
    const bool alive = node.agent && !node.agent->ended();
    nodes.push_back({.node = id,
                     .alive = alive,
                     .pid = alive ? node.agent->pid() : 0,
                     .problem = alive ? "" : node.problem});
  }
  return nodes;
}

Status AgentWatch::bring_up(Node& node, bool server_changed) {
  const NodeFolder place = folder(node.order.node);
  node.agent = AgentProcess::adopt(place.lock());
  node.due = Monotonic::max();
  if (node.agent && server_changed) {
    // It is started again when it ends, and the new one reads the new address.
    node.agent->signal(SIGTERM);
    node.due = steady_clock::now() + options_.stop_grace;
  } else if (!node.agent && FileLock::is_held(place.lock())) {
    node.due = steady_clock::now() + kLookAgain;  // its holder has not signed yet
    return {};
  } else if (!node.agent) {
    place.rotate_log();
    SLIPWAY_ASSIGN(AgentProcess agent,
                   AgentProcess::spawn(options_.program, options_.home, node.order.node, place.log()));
    log_info("node.agent_started", {{"node", node.order.node}, {"pid", agent.pid()}});
    node.agent.emplace(std::move(agent));
  }
  node.phase = Phase::kUp;
  node.started_at = steady_clock::now();
  node.problem.clear();
  return {};
}

void AgentWatch::end_agent(Node& node, Phase phase) {
  node.phase = phase;
  node.due = steady_clock::now() + options_.stop_grace;
  node.problem = "it is being stopped";
  node.agent->signal(SIGTERM);
}

void AgentWatch::begin_removal(Node& node) {
  node.phase = Phase::kRemoving;
  node.due = steady_clock::now();
  node.problem = "it is being removed";
}

void AgentWatch::count_death(Node& node, const std::string& reason) {
  const Monotonic now = steady_clock::now();
  if (now - node.started_at >= options_.healthy_life) node.deaths = 0;
  ++node.deaths;
  Duration wait{0};
  if (node.deaths > 1)
    wait = std::min(options_.restart_wait * (1 << std::min(node.deaths - 2, 10)), kLongestRestartWait);
  node.phase = Phase::kDown;
  node.due = now + wait;
  node.problem =
      fmt::format("its agent ended by itself ({}); see {}", reason, folder(node.order.node).log().string());
  events_.push_back(
      {.kind = NodeEventKind::kDied, .node = node.order.node, .reason = node.problem, .deaths = node.deaths});
}

void AgentWatch::on_end(Node& node) {
  const std::string how = node.agent->reap();
  node.agent.reset();
  if (node.phase == Phase::kStopping) {
    begin_removal(node);
  } else if (node.phase == Phase::kHalting) {
    node.phase = Phase::kHalted;
    node.due = Monotonic::max();
    node.problem = "it was stopped with the server";
  } else {
    count_death(node, how);
  }
  ended_.notify_all();
}

void AgentWatch::on_due(Node& node) {
  if (node.phase == Phase::kDown) {
    node.started_at = steady_clock::now();
    if (const Status up = bring_up(node, false); !up) count_death(node, up.error().message);
  } else if (node.agent) {
    log_warning("node.agent_killed", {{"node", node.order.node}, {"pid", node.agent->pid()}});
    node.agent->signal(SIGKILL);
    node.due = steady_clock::now() + kKillAgain;
  }
}

void AgentWatch::remove_folder(const NodeId& id) {
  const auto gone = folder(id).remove_step(options_.clear_attempt);
  if (!gone) log_warning("node.folder_stays", {{"node", id}, {"error", gone.error()}});
  const std::lock_guard lock(mutex_);
  Node& node = nodes_.at(id);
  if (gone && *gone) {
    nodes_.erase(id);
    events_.push_back({.kind = NodeEventKind::kGone, .node = id, .reason = "it was stopped", .deaths = 0});
    return;
  }
  node.agent = AgentProcess::adopt(folder(id).lock());
  if (node.agent) {
    end_agent(node, Phase::kStopping);  // one that was still coming up
  } else {
    node.due = steady_clock::now() + (gone ? kLookAgain : kTryRemovalAgain);
  }
}

bool AgentWatch::wait_for_news() {
  std::vector<pollfd> fds{{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  Monotonic due = Monotonic::max();
  {
    const std::lock_guard lock(mutex_);
    if (over_) return false;
    for (const auto& [id, node] : nodes_) {
      due = std::min(due, node.due);
      if (node.agent) fds.push_back({.fd = node.agent->pidfd(), .events = POLLIN, .revents = 0});
    }
  }
  int timeout_ms = -1;
  if (due != Monotonic::max())
    timeout_ms = static_cast<int>(std::max<int64_t>(
        0, std::chrono::ceil<std::chrono::milliseconds>(due - steady_clock::now()).count()));
  ::poll(fds.data(), fds.size(), timeout_ms);
  uint64_t calls = 0;
  (void)!::read(wake_.get(), &calls, sizeof calls);
  return true;
}

void AgentWatch::run() {
  while (wait_for_news()) {
    std::vector<NodeId> removing;
    {
      const std::lock_guard lock(mutex_);
      const Monotonic now = steady_clock::now();
      for (auto& [id, node] : nodes_) {
        if (node.agent && node.agent->ended()) on_end(node);
        if (node.due > now) continue;
        if (node.phase == Phase::kRemoving)
          removing.push_back(id);
        else
          on_due(node);
      }
    }
    for (const NodeId& id : removing) remove_folder(id);
    std::vector<NodeEvent> events;
    {
      const std::lock_guard lock(mutex_);
      events.swap(events_);
    }
    for (const NodeEvent& event : events) sink_(event);
  }
}

}  // namespace slipway::compute
