#include "node/agent.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>

#include <optional>
#include <semaphore>
#include <thread>

#include "base/file.h"
#include "base/log.h"
#include "environments/build_store.h"
#include "node/own_cgroup.h"
#include "node/private_mounts.h"
#include "node/process_group.h"

namespace slipway::node {
namespace {

constexpr int kPreparations = 4;
constexpr int kUploads = 2;
constexpr size_t kIdleConnections = 8;
// On a node that is lent for one attempt.
constexpr Duration kTimeToBeWanted = std::chrono::minutes(10);
constexpr Duration kGraceWhenTakenBack = std::chrono::seconds(20);

// Here and not where they are built: nobody waits for it.
void bound_environments(const std::filesystem::path& home, uint64_t bytes) {
  const auto pruned = environments::BuildStore(home / "environments").prune(bytes);
  if (!pruned) {
    log_warning("agent.environments_not_bounded", {{"error", pruned.error()}});
  } else if (!pruned->builds.empty()) {
    log_info("agent.environments_pruned",
             {{"builds", pruned->builds.size()}, {"bytes", pruned->freed_bytes}});
  }
}

}  // namespace

// In the order of their construction: what stands below uses what stands above.
class Agent::Parts {
 public:
  Parts(const AgentOptions& options, NodePaths node_paths, AgentConfig node_config, FileLock node_lock,
        std::unique_ptr<data::FileCache> node_cache)
      : lock(std::move(node_lock)),
        paths(std::move(node_paths)),
        config(std::move(node_config)),
        cache(std::move(node_cache)),
        server(paths.node, config.url, config.token, config.ca_file, kIdleConnections),
        snapshots(server, *cache),
        inputs(paths, config.ca_file, server, *cache, config.cache_bytes),
        folders(paths.spare()),
        site{.paths = paths,
             .supervisor = options.supervisor,
             .times = options.attempt_times,
             .server = server,
             .snapshots = snapshots,
             .inputs = inputs,
             .folders = folders,
             .watch = watch,
             .preparations = preparations,
             .uploads = uploads,
             .private_mounts = private_mounts_work(paths.folder()),
             .environment_built = environment_built,
             .ending = ending},
        attempts(site, [this] { wakeup.raise(); }),
        intake(paths, config, server, attempts, options.order_times, [this] { wakeup.raise(); }) {}

  FileLock lock;
  const NodePaths paths;
  const AgentConfig config;
  std::unique_ptr<data::FileCache> cache;
  Wakeup wakeup;
  std::atomic<bool> stopped = false;
  std::counting_semaphore<> preparations{kPreparations};
  std::counting_semaphore<> uploads{kUploads};
  std::atomic<bool> environment_built = false;
  std::atomic<bool> ending = false;
  std::atomic<bool> end_asked = false;
  ServerLink server;
  SnapshotPlacer snapshots;
  InputPlacer inputs;
  AttemptFolders folders;
  JournalWatch watch;
  AttemptSite site;
  HeldAttempts attempts;
  OrderIntake intake;
};

Agent::Agent(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Agent::~Agent() = default;

Result<std::unique_ptr<Agent>> Agent::create(const AgentOptions& options) {
  NodePaths paths{.home = std::filesystem::absolute(options.home), .node = options.node};
  SLIPWAY_ASSIGN(AgentConfig config, read_agent_config(paths));
  paths.shared = config.shared;
  SLIPWAY_ASSIGN(std::optional<FileLock> lock, FileLock::try_take(paths.lock()));
  if (!lock)
    return fail(ErrorCode::kConflict, fmt::format("an agent of node {} is running already", paths.node),
                fmt::format("the holder of {} is that agent", paths.lock().string()));
  SLIPWAY_TRY(make_folders(paths.attempts()));
  SLIPWAY_ASSIGN(std::unique_ptr<data::FileCache> cache,
                 data::FileCache::open(paths.cache(), config.cache_bytes));
  SLIPWAY_ASSIGN(const std::vector<FoundAttempt> found, find_attempts(paths));
  auto parts = std::make_unique<Parts>(options, std::move(paths), std::move(config), std::move(*lock),
                                       std::move(cache));
  for (const FoundAttempt& attempt : found) parts->attempts.take_up(attempt.key, attempt.standing);
  return std::unique_ptr<Agent>(new Agent(std::move(parts)));
}

void Agent::run() {
  Parts& parts = *parts_;
  // What a supervisor and its folder left when both went at once; those of living runs hold processes.
  sweep_empty_groups(std::chrono::minutes(10));
  parts.intake.start();
  const bool lent = parts.config.allocation;
  const Monotonic patience = std::chrono::steady_clock::now() + kTimeToBeWanted;
  bool worked = false;
  while (!parts.stopped) {
    if (parts.end_asked.exchange(false)) end_attempts(parts);
    worked |= !parts.attempts.empty();
    parts.attempts.reap();
    if (parts.environment_built.exchange(false))
      bound_environments(parts.paths.common(), parts.config.environments_bytes);
    const bool done = parts.intake.draining() || parts.intake.refused() || (lent && worked) ||
                      (lent && std::chrono::steady_clock::now() > patience) || parts.ending;
    if (done && parts.attempts.empty()) break;
    parts.wakeup.wait(std::chrono::seconds(5));
  }
  log_info("agent.stopping", {{"node", parts.paths.node}, {"attempts", parts.attempts.keys().size()}});
  // First the word, then the end of the calls in progress: no thread makes another call in between.
  parts.intake.stop();
  parts.attempts.stop_all();
  parts.server.stop();
}

// What ended because of it is the lender's doing, and the server asks him about it.
void Agent::end_attempts(Parts& parts) {
  for (const AttemptKey& key : parts.attempts.keys())
    parts.attempts.cancel(key, {.reason = "its node was taken back", .grace = kGraceWhenTakenBack});
}

void Agent::stop() {
  if (parts_->config.allocation) {
    parts_->ending = true;  // at once: the job got the same signal, and may end before it is told to
    parts_->end_asked = true;
  } else {
    parts_->stopped = true;
  }
  parts_->wakeup.raise();
}

bool Agent::is_lent() const {
  return parts_->config.allocation;
}

Status run_agent(const AgentOptions& options) {
  make_room_for_limits();
  // Blocked before any thread is there, so that all inherit it and the signals wait for the one that asks.
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  SLIPWAY_ASSIGN(const std::unique_ptr<Agent> agent, Agent::create(options));
  std::atomic<bool> ended = false;
  std::thread listener([&] {
    const timespec often{.tv_sec = 0, .tv_nsec = 200'000'000};
    while (!ended) {
      const int signal = ::sigtimedwait(&signals, nullptr, &often);
      if (signal == SIGTERM || signal == SIGINT) agent->stop();
    }
  });
  // A guard that is killed takes its agent with it (allocation.h).
  if (agent->is_lent()) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  agent->run();
  ended = true;
  ::pthread_kill(listener.native_handle(), SIGHUP);
  listener.join();
  return {};
}

}  // namespace slipway::node
