#include "node/process_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/fd.h"
#include "base/log.h"
#include "node/process_group_cgroup.h"
#include "node/process_group_marked.h"

namespace slipway::node {
namespace {

using std::filesystem::path;

constexpr std::string_view kPrefix = "slipway-";

// Invariants:
// 1. killer_ is the cgroup that holds every process and nothing else; it is always there.
// 2. The others bound and measure; each may be missing, or be killer_ itself (v2 with controllers).
class CgroupGroup final : public ProcessGroup {
 public:
  static std::unique_ptr<CgroupGroup> make(const CgroupPlaces& places, const std::string& name,
                                           const launch::ProcessLimits& limits) {
    auto group = std::unique_ptr<CgroupGroup>(new CgroupGroup);
    if (!group->add_killer(places, name)) return nullptr;
    group->limit_memory(places, name, limits.memory_bytes);
    group->share_cpus(places, name, limits.cpus);
    group->limit_pids(places, name, limits.pids);
    for (const Cgroup& cgroup : group->all_)
      group->join_files_.emplace_back(
          ::open((cgroup.folder() / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    return group;
  }

  std::vector<int> join_files() const override {
    std::vector<int> files;
    for (const UniqueFd& fd : join_files_)
      if (fd) files.push_back(fd.get());
    return files;
  }

  void signal_all(int signal) override {
    for (const pid_t pid : killer().processes()) ::kill(pid, signal);
  }
  void kill_all() override { killer().kill_all(); }
  bool is_empty() override { return killer().processes().empty(); }

  std::optional<Duration> cpu_time() override {
    if (const auto usage = killer().read_number("cpu.stat", "usage_usec")) return Duration(*usage);
    for (const Cgroup& cgroup : all_)
      if (const auto nanos = cgroup.read_number("cpuacct.usage")) return Duration(*nanos / 1000);
    return std::nullopt;
  }

  // What the job itself needs: file pages that the kernel can drop at any time do not count.
  std::optional<uint64_t> memory_bytes() override {
    for (const Cgroup& cgroup : all_) {
      auto used = cgroup.read_number("memory.current");
      auto droppable = cgroup.read_number("memory.stat", "inactive_file");
      if (!used) {
        used = cgroup.read_number("memory.usage_in_bytes");
        droppable = cgroup.read_number("memory.stat", "total_inactive_file");
      }
      if (used) return *used - std::min(*used, droppable.value_or(0));
    }
    return std::nullopt;
  }

  uint64_t out_of_memory_kills() override {
    uint64_t kills = 0;
    for (const Cgroup& cgroup : all_) {
      kills += cgroup.read_number("memory.events", "oom_kill").value_or(0);
      kills += cgroup.read_number("memory.oom_control", "oom_kill").value_or(0);
    }
    return kills;
  }

  void remove() override {
    join_files_.clear();
    for (const Cgroup& cgroup : all_)
      if (!cgroup.remove()) log_warning("group.not_removed", {{"cgroup", cgroup.folder().string()}});
  }

  std::vector<path> folders() const override {
    std::vector<path> paths;
    for (const Cgroup& cgroup : all_) paths.push_back(cgroup.folder());
    return paths;
  }

 private:
  CgroupGroup() = default;
  const Cgroup& killer() const { return all_.front(); }

  // v2 even without controllers (cgroup.kill needs none), else v1's freezer.
  bool add_killer(const CgroupPlaces& places, const std::string& name) {
    for (const auto& place : {places.unified, places.freezer}) {
      if (!place) continue;
      Cgroup cgroup(*place / name);
      if (!cgroup.create()) continue;
      if (::access((cgroup.folder() / "cgroup.procs").c_str(), W_OK) == 0) {
        all_.push_back(std::move(cgroup));
        if (place == places.unified) return true;
        add(places.cpuacct, name);
        return true;
      }
      (void)cgroup.remove();
    }
    return false;
  }

  const Cgroup* add(const std::optional<path>& place, const std::string& name) {
    if (!place) return nullptr;
    const path folder = *place / name;
    // cpu and cpuacct are often one hierarchy.
    for (const Cgroup& cgroup : all_)
      if (cgroup.folder() == folder) return &cgroup;
    Cgroup cgroup(folder);
    if (!cgroup.create()) return nullptr;
    all_.push_back(std::move(cgroup));
    return &all_.back();
  }

  void limit_memory(const CgroupPlaces& places, const std::string& name, uint64_t bytes) {
    if (bytes == 0) return;
    const std::string text = std::to_string(bytes);
    if (killer().write("memory.max", text)) {
      killer().write("memory.swap.max", "0");
      // Half a job is of no use: when one of its processes must go, all go.
      killer().write("memory.oom.group", "1");
    } else if (const Cgroup* cgroup = add(places.memory, name)) {
      cgroup->write("memory.limit_in_bytes", text);
      cgroup->write("memory.memsw.limit_in_bytes", text);
    }
  }

  void share_cpus(const CgroupPlaces& places, const std::string& name, double cpus) {
    if (cpus <= 0) return;
    const double weight = std::clamp(cpus * 100, 1.0, 10'000.0);
    if (killer().write("cpu.weight", std::to_string(std::lround(weight)))) return;
    const double shares = std::clamp(cpus * 1024, 2.0, 262'144.0);
    if (const Cgroup* cgroup = add(places.cpu, name))
      cgroup->write("cpu.shares", std::to_string(std::lround(shares)));
  }

  void limit_pids(const CgroupPlaces& places, const std::string& name, int pids) {
    if (pids <= 0) return;
    const std::string text = std::to_string(pids);
    if (killer().write("pids.max", text)) return;
    if (const Cgroup* cgroup = add(places.pids, name)) cgroup->write("pids.max", text);
  }

  std::vector<Cgroup> all_;  // the killer first
  std::vector<UniqueFd> join_files_;
};

std::vector<path> places_of(const CgroupPlaces& places) {
  std::vector<path> all;
  for (const auto& place :
       {places.unified, places.freezer, places.memory, places.cpu, places.cpuacct, places.pids})
    if (place && std::ranges::find(all, *place) == all.end()) all.push_back(*place);
  return all;
}

// The supervisor may have lived in another cgroup than this process, so all of each hierarchy is searched.
std::vector<Cgroup> find_cgroups(const std::string& name) {
  constexpr int kMaxDepth = 12;
  std::vector<Cgroup> found;
  for (const path& mount : find_cgroup_places().mounts) {
    std::error_code error;
    const auto options = std::filesystem::directory_options::skip_permission_denied;
    std::filesystem::recursive_directory_iterator entry(mount, options, error);
    for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
      std::error_code ignored;
      if (!entry->is_directory(ignored)) continue;
      if (entry->path().filename() == name) found.emplace_back(entry->path());
      if (entry.depth() >= kMaxDepth) entry.disable_recursion_pending();
    }
  }
  return found;
}

}  // namespace

std::unique_ptr<ProcessGroup> make_process_group(const std::string& mark,
                                                 const launch::ProcessLimits& limits) {
  if (auto group = make_cgroup_group(find_cgroup_places(), mark, limits)) return group;
  return make_marked_group(mark);
}

std::unique_ptr<ProcessGroup> make_cgroup_group(const CgroupPlaces& places, const std::string& mark,
                                                const launch::ProcessLimits& limits) {
  return CgroupGroup::make(places, std::string(kPrefix) + mark, limits);
}

Status end_group(const std::string& mark) {
  SLIPWAY_TRY(check_name(mark, "mark", 128));
  const std::vector<Cgroup> cgroups = find_cgroups(std::string(kPrefix) + mark);
  using namespace std::chrono_literals;
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (true) {
    size_t alive = signal_marked(mark, SIGKILL);
    for (const Cgroup& cgroup : cgroups) {
      alive += cgroup.processes().size();
      cgroup.kill_all();
    }
    if (alive == 0) break;
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::kTimeout, fmt::format("{} processes of {} would not die", alive, mark));
    std::this_thread::sleep_for(2ms);
  }
  for (const Cgroup& cgroup : cgroups)
    if (!cgroup.remove()) log_warning("group.not_removed", {{"cgroup", cgroup.folder().string()}});
  return {};
}

void sweep_groups(std::string_view prefix, const std::function<bool(std::string_view mark)>& is_alive) {
  if (prefix.empty()) return;
  for (const path& place : places_of(find_cgroup_places())) {
    std::vector<std::string> dead;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(place, error)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(kPrefix) || !entry.is_directory(error)) continue;
      const std::string mark = name.substr(kPrefix.size());
      if (mark.starts_with(prefix) && !is_alive(mark)) dead.push_back(mark);
    }
    for (const std::string& mark : dead)
      if (const Status ended = end_group(mark); !ended)
        log_warning("group.not_ended", {{"mark", mark}, {"error", ended.error()}});
  }
}

}  // namespace slipway::node
