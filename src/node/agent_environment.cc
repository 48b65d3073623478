#include "node/agent_environment.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>

#include "base/log.h"
#include "base/subprocess.h"
#include "environments/build/prepare.h"
#include "launch/plan.h"
#include "node/agent_attempt.h"
#include "node/private_mounts.h"
#include "node/process_group.h"

namespace slipway::node {
namespace fs = std::filesystem;
namespace {

// Which lock holds for the key: the first that any node reports. A server that knows nothing of locks leaves
// it to the node.
Result<std::string> agree_on_lock(const AttemptSite& site, const AttemptOrder& order,
                                  std::string_view builder, const std::string& lock,
                                  AttemptSignals& signals) {
  const json::object offer{{"key", order.environment.key},
                           {"platform", environments::platform()},
                           {"builder", builder},
                           {"lock", lock}};
  std::string agreed = lock;
  const Status asked = signals.insist(
      [&]() -> Status {
        const auto answer =
            site.server.post(site.server.attempt_target(order.key, "environment/lock"), offer);
        if (!answer) return fail(answer.error());
        JsonFields fields(*answer, "the server's answer to a lock");
        fields.optional("lock", agreed);
        return fields.finish_lenient();
      },
      [&] { return !signals.canceled(); });
  if (asked) return agreed;
  if (asked.error().code != ErrorCode::kNotFound) return fail(asked.error());
  log_warning("attempt.lock_not_shared", {{"attempt", to_text(order.key)}, {"error", asked.error()}});
  return lock;
}

json::object to_json(const environments::BuildReport& report) {
  return {{"build", report.build},
          {"builder", report.builder},
          {"python", report.python},
          {"lock_digest", report.lock_digest},
          {"applied", slipway::to_json(report.applied)},
          {"seconds", report.seconds},
          {"reused", report.reused}};
}

std::string sentence(const AttemptOrder& order, const environments::BuildReport& report) {
  const std::string name = order.environment.version > 0
                               ? fmt::format("{}:{}", order.environment.name, order.environment.version)
                               : order.environment.name;
  if (report.build.empty()) return fmt::format("environment {}: the machine's own interpreter", name);
  const std::string python = report.python.empty() ? "" : fmt::format(", Python {}", report.python);
  if (report.reused) return fmt::format("environment {} was there{}", name, python);
  return fmt::format("environment {} built in {:.1f} s{}", name, report.seconds, python);
}

Result<launch::Overlay> guard(const fs::path& shared, const fs::path& folder) {
  const fs::path own = folder / "environment";
  for (const fs::path& part : {own, own / "upper", own / "work", own / "root"}) {
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return fail(errno_error(errno, fmt::format("create {}", part.string())));
  }
  return launch::Overlay{
      .folder = shared.string(), .upper = (own / "upper").string(), .work = (own / "work").string()};
}

uint64_t bytes_of(const std::string& size) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), number);
  if (error != std::errc()) return 0;
  const char unit = end == size.data() + size.size() ? 'b' : *end;
  const int shift = unit == 'g' ? 30 : unit == 'm' ? 20 : unit == 'k' ? 10 : 0;
  return number << shift;
}

// What a job in an image still has of this machine: its attempt with the in-job socket, and Slipway's own
// packages.
Result<launch::Root> root_for(const AttemptSite& site, const environments::PreparedEnvironment& prepared,
                              const fs::path& folder) {
  launch::Root root;
  SLIPWAY_ASSIGN(root.files, guard(prepared.root, folder));
  root.mount = (folder / "environment" / "root").string();
  root.shm_bytes = bytes_of(prepared.shm_size);
  root.binds = {folder.string(), (site.paths.common() / "python").string()};
  const fs::path socket = launch::socket_path(folder).parent_path();
  if (socket != folder) root.binds.push_back(socket.string());
  return root;
}

}  // namespace

Result<AttemptEnvironment> prepare_environment(const AttemptSite& site, const AttemptOrder& order,
                                               const fs::path& folder, AttemptSignals& signals,
                                               PreparationLog& log) {
  AttemptEnvironment environment;
  if (order.environment.version == 0 && order.environment.key.empty()) return environment;
  environments::Workshop workshop{.home = site.paths.common(),
                                  .variables = own_environment(),
                                  .log = [&](std::string_view line) { log.line(kEnvironmentLog, line); },
                                  .wanted = [&] { return !signals.interrupted() && !signals.canceled(); },
                                  .mark = {},
                                  .hard_links = site.private_mounts};
  const environments::Preparation preparation{
      .order = order.environment,
      .attempt = folder,
      .submitted_at = order.submitted_at,
      .agree = [&](std::string_view builder,
                   const std::string& lock) { return agree_on_lock(site, order, builder, lock, signals); },
      .end_leftovers = [](const std::string& mark) { (void)end_group(mark); }};
  auto prepared = environments::prepare_environment(preparation, workshop);
  if (!prepared) {
    log.line(kEnvironmentLog, prepared.error().message);
    return fail(prepared.error().code,
                fmt::format("environment {}: {}", order.environment.name, prepared.error().message),
                prepared.error().next);
  }
  if (!prepared->report.reused && !prepared->report.build.empty()) site.environment_built = true;
  // By the journal, so that it is there exactly once and no job waits for the server to have it.
  log.note("environment", sentence(order, prepared->report), to_json(prepared->report));
  environment.prepared = std::move(prepared->environment);
  if (!environment.prepared.guarded.empty() && site.private_mounts) {
    SLIPWAY_ASSIGN(launch::Overlay overlay, guard(environment.prepared.guarded, folder));
    environment.overlays.push_back(std::move(overlay));
  }
  if (!environment.prepared.root.empty()) {
    SLIPWAY_ASSIGN(environment.root, root_for(site, environment.prepared, folder));
  }
  return environment;
}

}  // namespace slipway::node
