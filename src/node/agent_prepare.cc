#include "node/agent_prepare.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "environments/environment.h"
#include "launch/plan.h"
#include "node/agent_attempt.h"
#include "node/agent_preparation.h"

namespace slipway::node {
namespace {

// Holds one of the places to prepare in; none when the attempt was interrupted meanwhile.
class Turn {
 public:
  Turn(std::counting_semaphore<>& places, const AttemptSignals& signals) : places_(places) {
    while (!signals.interrupted() && !held_) held_ = places_.try_acquire_for(std::chrono::milliseconds(200));
  }
  ~Turn() {
    if (held_) places_.release();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::counting_semaphore<>& places_;
  bool held_ = false;
};

std::string own_program_folder() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path().string();
}

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

// Below /tmp anybody may have made the folder before us.
Status make_socket_folder(const std::filesystem::path& folder) {
  struct stat status{};
  if (::mkdir(folder.c_str(), 0700) == 0) return {};
  if (::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::getuid() &&
      (status.st_mode & 0077U) == 0)
    return {};
  return fail(ErrorCode::kPermissionDenied, fmt::format("{} is not this user's own", folder.string()),
              "remove it, or give the home a shorter path");
}

Status place_snapshot(const AttemptSite& site, const AttemptOrder& order, const std::filesystem::path& work,
                      AttemptSignals& signals) {
  const auto place = [&]() -> Status {
    Status placed = site.snapshots.place(order, work);
    // What a run's token cannot reach now it will not reach later.
    if (!placed &&
        (placed.error().code == ErrorCode::kUnauthenticated || placed.error().code == ErrorCode::kNotFound))
      placed.error().code = ErrorCode::kPermissionDenied;
    // Nor does a full disk on this node empty itself while a run waits for it.
    if (!placed && placed.error().code == ErrorCode::kStorageFull) placed.error().code = ErrorCode::kTooLarge;
    return placed;
  };
  Status placed = signals.insist(place, [&] { return !signals.canceled(); });
  if (placed) return {};
  return fail(placed.error().code,
              fmt::format("the code of the run could not be placed: {}", placed.error().message),
              placed.error().next);
}

}  // namespace

Result<launch::SupervisorSpec> prepare_attempt(const AttemptSite& site, const AttemptOrder& order,
                                               const std::filesystem::path& folder, Standing standing,
                                               AttemptSignals& signals, PreparationLog& log) {
  const Turn turn(site.preparations, signals);
  SLIPWAY_ASSIGN(environments::PreparedEnvironment environment,
                 environments::prepare(order.job.environment,
                                       [&](std::string_view line) { log.line(kEnvironmentLog, line); }));
  if (standing == Standing::kOrdered) SLIPWAY_TRY(place_snapshot(site, order, folder / "work", signals));
  SLIPWAY_ASSIGN(launch::SupervisorSpec spec,
                 launch::supervisor_spec(order, {.folder = folder,
                                                 .url = site.server.url(),
                                                 .environment = own_environment(),
                                                 .mark = random_base32(20),
                                                 .path_prefix = std::move(environment.path_prefix),
                                                 .variables = std::move(environment.variables),
                                                 .program_folder = own_program_folder()}));
  const std::filesystem::path socket_folder = std::filesystem::path(spec.socket).parent_path();
  if (socket_folder != folder) SLIPWAY_TRY(make_socket_folder(socket_folder));
  return spec;
}

}  // namespace slipway::node
