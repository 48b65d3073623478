#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <charconv>
#include <functional>

#include "base/cgroup_places.h"
#include "base/file.h"
#include "cli/answer.h"
#include "cli/context.h"
#include "cli/probe.h"
#include "cli/quantities.h"
#include "cli/session.h"
#include "environments/build/interpreters.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLeastFreeBytes = 1ULL << 30;
constexpr uint64_t kLeastWatches = 8192;
constexpr uint64_t kLeastInstances = 128;
constexpr rlim_t kLeastFiles = 4096;

enum class Health { kOk, kMissing, kWarning };

struct Check {
  std::string name;
  Health health = Health::kOk;
  std::string detail;
  std::string fix;         // the command that mends it
  bool essential = false;  // without it nothing works
};

std::string_view to_text(Health health) {
  switch (health) {
    case Health::kOk: return "ok";
    case Health::kMissing: return "missing";
    case Health::kWarning: return "warning";
  }
  return "";
}

// The nearest folder above `path`, or itself, that is there.
fs::path existing_part(fs::path path) {
  std::error_code error;
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return path;
}

Check check_home(const fs::path& home) {
  Check check{.name = "home", .detail = "", .fix = "", .essential = true};
  const fs::path there = existing_part(home);
  if (::access(there.c_str(), W_OK) != 0) {
    check.health = Health::kMissing;
    check.detail = fmt::format("{} cannot be written", there.string());
    check.fix = "export SLIPWAY_HOME=/a/folder/of/yours";
    return check;
  }
  struct statvfs disk{};
  ::statvfs(there.c_str(), &disk);
  const uint64_t free = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
  check.detail = fmt::format("{}, {} free", home.string(), bytes_text(free));
  if (free < kLeastFreeBytes) {
    check.health = Health::kWarning;
    check.fix = fmt::format("free some space below {}", there.string());
  }
  return check;
}

Check check_server(const Context& context) {
  Check check{.name = "server", .detail = "", .fix = ""};
  Result<Session> session = Session::open(context);
  const Result<json::object> about = session ? session->get("/api/v1/server") : fail(session.error());
  if (!about) {
    check.health = Health::kWarning;
    check.detail = about.error().message;
    check.fix = "slipway up --detach";
    return check;
  }
  const std::string version = text_at(*about, "version");
  check.detail = fmt::format("{} answers, version {}", session->url(), version);
  if (version != SLIPWAY_VERSION) {
    check.health = Health::kWarning;
    check.detail += fmt::format("; this program is {}", SLIPWAY_VERSION);
    check.fix = "slipway down && slipway up --detach";
  }
  return check;
}

// Clusters elsewhere, as the server sees them.
std::vector<Check> check_clusters(const Context& context) {
  std::vector<Check> checks;
  Result<Session> session = Session::open(context);
  if (!session) return checks;
  const auto clusters = session->list(session->in_workspace("/compute"), {}, 0);
  if (!clusters) return checks;
  for (const json::value& item : *clusters) {
    const json::object& cluster = item.as_object();
    if (text_at(cluster, "engine") != "slurm") continue;
    const json::object& status = object_at(cluster, "engine_status");
    Check check{.name = fmt::format("cluster {}", text_at(cluster, "name")), .detail = "", .fix = ""};
    const std::string problem = text_at(status, "problem");
    const std::string endpoint = text_at(object_at(cluster, "slurm"), "endpoint");
    if (problem.empty() && flag_at(status, "reachable")) {
      check.detail = fmt::format("Slurm {} answers at {}, {}", text_at(status, "version"), endpoint,
                                 count_of(integer_at(object_at(status, "nodes"), "total"), "node"));
    } else {
      check.health = Health::kWarning;
      check.detail = problem.empty() ? fmt::format("Slurm at {} has not been asked yet", endpoint) : problem;
      check.fix = text_at(status, "next");
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

struct Program {
  const char* name;
  const char* version_option;
  const char* use;  // what it is for, shown when it is missing
  const char* install;
};

Check check_program(const Program& program) {
  Check check{.name = program.name, .detail = "", .fix = ""};
  const auto found = find_program(program.name);
  if (!found) {
    check.health = Health::kMissing;
    check.detail = program.use;
    check.fix = program.install;
    return check;
  }
  const std::string version = first_line_of(*found, {program.version_option});
  check.detail =
      version.empty() ? found->string() : fmt::format("{} ({})", printable(version, 60), found->string());
  return check;
}

Check check_containers() {
  for (const char* name : {"podman", "docker"})
    if (find_program(name)) return check_program({name, "--version", "", ""});
  return {.name = "podman",
          .health = Health::kMissing,
          .detail = "only for environments that are images",
          .fix = "apt install podman"};
}

Check check_conda() {
  for (const char* name : {"micromamba", "mamba", "conda", "pixi"})
    if (find_program(name)) return check_program({name, "--version", "", ""});
  return {
      .name = "conda",
      .health = Health::kMissing,
      .detail = "none of micromamba, mamba, conda, pixi: packages of conda files are taken from PyPI by uv",
      .fix = "curl -Ls https://micro.mamba.pm/api/micromamba/linux-64/latest | tar -xj bin/micromamba"};
}

// Those that environments can be built with.
Check check_interpreters(const fs::path& home) {
  Check check{.name = "interpreters", .detail = "", .fix = ""};
  const environments::Workshop workshop{.home = home,
                                        .variables = own_environment(),
                                        .log = [](std::string_view) {},
                                        .wanted = [] { return true; },
                                        .mark = ""};
  for (const environments::Interpreter& found : environments::find_interpreters(workshop))
    check.detail += fmt::format("{}{}", check.detail.empty() ? "Python " : ", ", to_text(found.version));
  if (!check.detail.empty()) return check;
  check.health = Health::kMissing;
  check.detail = "no Python for environments; uv fetches one where it can";
  check.fix = "apt install python3";
  return check;
}

Check check_gpus() {
  Check check{.name = "NVIDIA driver", .detail = "", .fix = ""};
  const std::string driver = small_file("/proc/driver/nvidia/version");
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library != nullptr) ::dlclose(library);
  if (driver.empty() && library == nullptr) {
    check.health = Health::kMissing;
    check.detail = "no GPUs for jobs; CPUs are fine";
    check.fix = "apt install nvidia-driver (contrib and non-free)";
  } else if (library == nullptr) {
    check.health = Health::kWarning;
    check.detail = "the driver is there, libnvidia-ml.so.1 is not: GPUs are not seen";
    check.fix = "apt install libnvidia-ml1";
  } else {
    check.detail =
        driver.empty() ? "libnvidia-ml.so.1 is there" : printable(driver.substr(0, driver.find('\n')), 70);
  }
  return check;
}

// Of the server that is running, or else of what this shell would start.
Check check_cgroups(const fs::path& home) {
  Check check{.name = "cgroups", .detail = "", .fix = ""};
  const auto server = FileLock::holder(home / "server.lock");
  const CgroupPlaces places = find_cgroup_places(server ? server->pid : 0);
  const auto writable = [](const std::optional<fs::path>& place) {
    return place && ::access(place->c_str(), W_OK) == 0;
  };
  const bool version1 = places.freezer || places.memory;
  if (!places.unified && !version1) {
    check.detail = "none: jobs are gathered by session, memory is watched, not limited";
  } else if (!writable(places.unified) && !writable(places.freezer)) {
    check.detail = fmt::format(
        "version {}, but {} cannot be written: jobs are gathered by session, memory is watched, not limited",
        version1 ? 1 : 2, places.freezer.value_or(places.unified.value_or("/sys/fs/cgroup")).string());
  } else if (!writable(places.memory) && !(places.unified && bounds_memory(*places.unified))) {
    check.detail = fmt::format(
        "version {}, without the memory controller: all processes of a job end with it, memory is watched, "
        "not "
        "limited",
        version1 ? 1 : 2);
  } else {
    check.detail = fmt::format("version {}: limits are enforced and all processes of a job end with it",
                               version1 ? 1 : 2);
    return check;
  }
  check.health = Health::kWarning;
  check.fix =
      fmt::format("systemd-run {}--scope -p Delegate=yes slipway up", ::getuid() == 0 ? "" : "--user ");
  return check;
}

uint64_t number_in(const fs::path& path) {
  const std::string text = small_file(path);
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Check check_inotify() {
  const uint64_t watches = number_in("/proc/sys/fs/inotify/max_user_watches");
  const uint64_t instances = number_in("/proc/sys/fs/inotify/max_user_instances");
  Check check{
      .name = "inotify", .detail = fmt::format("{} watches, {} instances", watches, instances), .fix = ""};
  if (watches < kLeastWatches || instances < kLeastInstances) {
    check.health = Health::kWarning;
    check.detail += "; many jobs at once may need more";
    check.fix = "sysctl fs.inotify.max_user_watches=65536 fs.inotify.max_user_instances=1024";
  }
  return check;
}

Check check_open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  Check check{
      .name = "open files",
      .detail = fmt::format("up to {}",
                            limit.rlim_max == RLIM_INFINITY ? "any number" : std::to_string(limit.rlim_max)),
      .fix = ""};
  if (limit.rlim_max < kLeastFiles) {
    check.health = Health::kWarning;
    check.fix = "ulimit -Hn 65536, as root or in /etc/security/limits.conf";
  }
  return check;
}

Check check_tls() {
  std::error_code error;
  if (fs::exists("/etc/ssl/certs/ca-certificates.crt", error) ||
      fs::exists("/etc/pki/tls/certs/ca-bundle.crt", error))
    return {.name = "TLS", .detail = "the system's certificates are there, for https:// servers", .fix = ""};
  return {.name = "TLS",
          .health = Health::kWarning,
          .detail = "no system certificates: an https:// server needs --ca-file",
          .fix = "apt install ca-certificates"};
}

std::vector<Check> all_checks(const Context& context) {
  std::vector<Check> checks{check_home(context.home()), check_server(context)};
  constexpr Program kPrograms[] = {
      {"python3", "--version", "for jobs in Python", "apt install python3 python3-venv"},
      {"git", "--version", "records the commit a run was made from", "apt install git"},
      {"uv", "--version", "builds Python environments; fetched when the first one is needed",
       "python3 -m pip install uv"},
  };
  for (const Program& program : kPrograms) checks.push_back(check_program(program));
  checks.push_back(check_interpreters(context.home()));
  checks.push_back(check_conda());
  checks.push_back(check_containers());
  checks.push_back(check_program(
      {"sbatch", "--version", "only for clusters that are Slurm's", "apt install slurm-client"}));
  for (Check& check : check_clusters(context)) checks.push_back(std::move(check));
  checks.push_back(check_gpus());
  checks.push_back(check_cgroups(context.home()));
  checks.push_back(check_inotify());
  checks.push_back(check_open_files());
  checks.push_back(check_tls());
  return checks;
}

void print_checks(Context& context, const std::vector<Check>& checks) {
  const bool colour = context.console.colour_out();
  size_t width = 0;
  for (const Check& check : checks) width = std::max(width, check.name.size());
  for (const Check& check : checks) {
    const Colour mark = check.health == Health::kOk                           ? Colour::kGreen
                        : check.health == Health::kMissing && check.essential ? Colour::kRed
                                                                              : Colour::kYellow;
    context.console.line(fmt::format("{}  {:<{}}  {}",
                                     paint(fmt::format("{:<7}", to_text(check.health)), mark, colour),
                                     check.name, width, printable(check.detail)));
    if (!check.fix.empty()) context.console.line(fmt::format("{:>{}}  {}", "", width + 9, "-> " + check.fix));
  }
}

Result<int> examine(Context& context) {
  const std::vector<Check> checks = all_checks(context);
  bool good = true;
  json::array items;
  for (const Check& check : checks) {
    if (check.essential && check.health == Health::kMissing) good = false;
    items.push_back({{"name", check.name},
                     {"status", to_text(check.health)},
                     {"detail", check.detail},
                     {"fix", check.fix},
                     {"essential", check.essential}});
  }
  if (context.console.json()) {
    context.console.print_json(json::object{{"ok", good}, {"items", std::move(items)}});
  } else {
    print_checks(context, checks);
  }
  return good ? 0 : exit_code(ErrorCode::kUnavailable);
}

}  // namespace

void add_doctor_command(Command root, Context& context) {
  root.command("doctor", "Say what is missing on this machine and the command that installs it",
               "slipway doctor")
      .action([&context] { return examine(context); });
}

}  // namespace slipway::cli
