#include "node/agent_prepare.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

#include "base/random.h"
#include "base/subprocess.h"
#include "bundle/wheels.h"
#include "launch/plan.h"
#include "node/agent_attempt.h"
#include "node/agent_environment.h"
#include "node/agent_input_files.h"
#include "node/agent_rendezvous.h"
#include "node/supervisor_process.h"

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

// `what` stands in the message: "the code of the run".
struct Wanted {
  const std::string& digest;
  std::string what;
};

// Repeats `place` while the server is away. What the run's token cannot reach now it will not reach later, a
// full disk does not empty itself, and trouble that stays after several tries is this machine's own.
Status insist_on_placing(AttemptSignals& signals, const std::function<Status()>& place) {
  constexpr int kMostTroubles = 10;
  int troubles = 0;
  const auto placed_or_refused = [&]() -> Status {
    Status placed = place();
    if (placed) return placed;
    ErrorCode& code = placed.error().code;
    if (code == ErrorCode::kUnauthenticated || code == ErrorCode::kNotFound)
      code = ErrorCode::kPermissionDenied;
    if (code == ErrorCode::kStorageFull) code = ErrorCode::kTooLarge;
    if (code == ErrorCode::kInternal && ++troubles == kMostTroubles) code = ErrorCode::kConflict;
    return placed;
  };
  return signals.insist(placed_or_refused, [&] { return !signals.canceled(); });
}

Status place_snapshot(const AttemptSite& site, const AttemptOrder& order, const Wanted& wanted,
                      const std::filesystem::path& folder, AttemptSignals& signals) {
  const Status placed =
      insist_on_placing(signals, [&] { return site.snapshots.place(order, wanted.digest, folder); });
  if (placed) return {};
  return fail(placed.error().code,
              fmt::format("{} could not be placed: {}", wanted.what, placed.error().message),
              placed.error().next);
}

Status place_outputs(const AttemptSite& site, const AttemptOrder& order, const std::filesystem::path& work,
                     AttemptSignals& signals, PreparationLog& log) {
  size_t files = 0;
  const Status placed = insist_on_placing(signals, [&]() -> Status {
    SLIPWAY_ASSIGN(files, site.snapshots.place_outputs(order, work));
    return {};
  });
  if (!placed)
    return fail(
        placed.error().code,
        fmt::format("the outputs of the earlier attempts could not be placed: {}", placed.error().message),
        placed.error().next);
  if (files > 0)
    log.note("outputs", fmt::format("going on from {} {} that earlier attempts left in ./outputs", files,
                                    files == 1 ? "file" : "files"));
  return {};
}

// Where each model is: the file or folder that is all of it, or the folder that holds its several.
Result<std::map<std::string, std::string>> place_models(const AttemptSite& site, const AttemptOrder& order,
                                                        const std::filesystem::path& folder,
                                                        AttemptSignals& signals, PreparationLog& log) {
  std::map<std::string, std::string> paths;
  for (const ModelOrder& model : order.models) {
    const std::string name = fmt::format("the model {}:{}", model.name, model.version);
    const std::filesystem::path at =
        folder / launch::kModelsFolder / model.name / std::to_string(model.version);
    std::error_code error;
    std::filesystem::create_directories(at, error);
    if (error) return fail(errno_error(error.value(), fmt::format("create {}", at.string())));
    SLIPWAY_TRY(place_snapshot(site, order, {.digest = model.manifest, .what = name}, at, signals));
    log.line(kDataLog, fmt::format("placed {}: {} files, {}", name, model.files, bytes_text(model.bytes)));
    std::filesystem::directory_iterator entries(at, error);
    const bool single = !error && std::distance(begin(entries), std::filesystem::directory_iterator()) == 1;
    const std::filesystem::path whole = single ? std::filesystem::directory_iterator(at, error)->path() : at;
    paths.emplace(model.name, whole.string());  // of two versions the first one named
  }
  return paths;
}

// In an image it is looked for when it is started.
Status check_mpi(const launch::SupervisorSpec& spec) {
  if (spec.root) return {};
  const auto path = spec.environment.find("PATH");
  for (const char* program : {"mpirun", "orted"})
    if (!find_program(program, path == spec.environment.end() ? "" : path->second, spec.work))
      return fail(
          ErrorCode::kNotFound, "a node of the run has no mpirun, or no orted, on its PATH",
          "install OpenMPI there (Debian: openmpi-bin), or put it into the environment (conda: openmpi)");
  return {};
}

}  // namespace

Result<PreparedAttempt> prepare_attempt(const AttemptSite& site, const AttemptOrder& order,
                                        const std::filesystem::path& folder, Standing standing,
                                        AttemptSignals& signals, PreparationLog& log) {
  SLIPWAY_ASSIGN(AttemptEnvironment environment, prepare_environment(site, order, folder, signals, log));
  // After the environment: who waits for a build keeps nobody from placing code.
  std::optional<Turn> turn(std::in_place, site.preparations, signals);
  SLIPWAY_ASSIGN(const std::filesystem::path packages,
                 bundle::unpack_packages(site.paths.common() / "python"));
  if (standing == Standing::kOrdered)
    SLIPWAY_TRY(place_snapshot(site, order, {.digest = order.job.snapshot, .what = "the code of the run"},
                               folder / "work", signals));
  if (standing == Standing::kOrdered && order.key.attempt > 1)
    SLIPWAY_TRY(place_outputs(site, order, folder / "work", signals, log));
  SLIPWAY_ASSIGN(auto models, place_models(site, order, folder, signals, log));
  SLIPWAY_ASSIGN(PlacedInputs inputs, site.inputs.place(order, folder, signals, log));
  SLIPWAY_ASSIGN(auto outputs, DataOutputs::make(order, folder));
  // Nor does who waits for other nodes.
  turn.reset();
  SLIPWAY_ASSIGN(Gathered gathered, meet_other_nodes(site.server, order, signals, log));
  SLIPWAY_ASSIGN(launch::SupervisorSpec spec,
                 launch::supervisor_spec(order, {.folder = folder,
                                                 .url = site.server.url(),
                                                 .environment = own_environment(),
                                                 .mark = random_base32(20),
                                                 .path_prefix = std::move(environment.prepared.path_prefix),
                                                 .variables = std::move(environment.prepared.variables),
                                                 .program_folder = own_program_folder(),
                                                 .python_packages = packages.string(),
                                                 .overlays = std::move(environment.overlays),
                                                 .root = std::move(environment.root),
                                                 .data = {.inputs = std::move(inputs.paths),
                                                          .outputs = std::move(outputs),
                                                          .models = std::move(models)},
                                                 .offers = std::move(gathered.offers),
                                                 .ca_file = site.server.ca_file(),
                                                 .network = std::move(gathered.network)}));
  if (order.job.launcher.kind == LauncherKind::kMpi) SLIPWAY_TRY(check_mpi(spec));
  spec.mounts = std::move(inputs.mounts);
  // Inputs that the job wants outside the attempt's folder, which an image's root has anyway.
  if (spec.root) std::ranges::move(inputs.elsewhere, std::back_inserter(spec.root->binds));
  const std::filesystem::path socket_folder = std::filesystem::path(spec.socket).parent_path();
  if (socket_folder != folder) SLIPWAY_TRY(make_socket_folder(socket_folder));
  return PreparedAttempt{.spec = std::move(spec),
                         .ports = std::move(gathered.ports),
                         .mount_order = std::move(inputs.mount_order)};
}

}  // namespace slipway::node
