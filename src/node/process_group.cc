#include "node/process_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "base/fd.h"
#include "base/log.h"
#include "node/process_group_cgroup.h"
#include "node/process_group_marked.h"
#include "node/process_memory.h"

namespace slipway::node {
namespace {

using std::filesystem::path;

constexpr std::string_view kPrefix = "slipway-";

// Invariants:
// 1. The killer, the first of all_, holds every process and nothing else; it is there from the start.
// 2. The others (v1) bound and measure. Moving a process into a cgroup makes it wait for the whole machine,
// for
//    some 10 ms; so they are made and entered only by bound(), once the job has shown that it lives longer
//    than that. In the killer of v2 a process is born.
class CgroupGroup final : public ProcessGroup {
 public:
  static std::unique_ptr<CgroupGroup> make(const CgroupPlaces& places, const std::string& name,
                                           const launch::ProcessLimits& limits) {
    auto group = std::unique_ptr<CgroupGroup>(new CgroupGroup(places, name, limits));
    if (!group->add_killer()) return nullptr;
    group->bound_killer();
    return group;
  }

  Entrance entrance() const override { return {.folder = folder_.get(), .file = file_.get()}; }

  void bound() override {
    if (limits_.memory_bytes > 0) limit_memory();
    if (limits_.cpus > 0) share_cpus();
    if (limits_.pids > 0)
      if (const Cgroup* cgroup = add(places_.pids)) cgroup->write("pids.max", std::to_string(limits_.pids));
    if (!folder_) add(places_.cpuacct);
    // What is forked while the others are moved is found in the next round; once its parent is in, it is too.
    constexpr int kMaxRounds = 8;
    std::set<pid_t> moved;
    for (int round = 0; round < kMaxRounds && all_.size() > 1; ++round) {
      bool news = false;
      for (const pid_t pid : killer().processes()) {
        if (!moved.insert(pid).second) continue;
        news = true;
        for (size_t i = 1; i < all_.size(); ++i) all_[i].write("cgroup.procs", std::to_string(pid));
      }
      if (!news) break;
    }
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
    // No controller counts for us: as good as can be told from outside.
    uint64_t resident = 0;
    for (const pid_t pid : killer().processes()) resident += resident_bytes(pid);
    return resident;
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
    folder_.reset();
    file_.reset();
    for (const Cgroup& cgroup : all_)
      if (!cgroup.remove()) log_warning("group.not_removed", {{"cgroup", cgroup.folder().string()}});
  }

  std::vector<path> folders() const override {
    std::vector<path> paths;
    for (const Cgroup& cgroup : all_) paths.push_back(cgroup.folder());
    return paths;
  }

 private:
  CgroupGroup(CgroupPlaces places, std::string name, launch::ProcessLimits limits)
      : places_(std::move(places)), name_(std::move(name)), limits_(limits) {}
  const Cgroup& killer() const { return all_.front(); }

  // v2 even without controllers (cgroup.kill needs none), else v1's freezer.
  bool add_killer() {
    for (const auto& place : {places_.unified, places_.freezer}) {
      if (!place) continue;
      Cgroup cgroup(*place / name_);
      if (!cgroup.create()) continue;
      file_ = UniqueFd(::open((cgroup.folder() / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
      if (file_) {
        if (place == places_.unified)
          folder_ = UniqueFd(::open(cgroup.folder().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        all_.push_back(std::move(cgroup));
        return true;
      }
      (void)cgroup.remove();
    }
    return false;
  }

  // Bounds that the killer itself can take (v2 with controllers) are on before the first process is in.
  void bound_killer() {
    if (limits_.memory_bytes > 0 && killer().write("memory.max", std::to_string(limits_.memory_bytes))) {
      killer().write("memory.swap.max", "0");
      // Half a job is of no use: when one of its processes must go, all go.
      killer().write("memory.oom.group", "1");
      limits_.memory_bytes = 0;
    }
    const double weight = std::clamp(limits_.cpus * 100, 1.0, 10'000.0);
    if (limits_.cpus > 0 && killer().write("cpu.weight", std::to_string(std::lround(weight))))
      limits_.cpus = 0;
    if (limits_.pids > 0 && killer().write("pids.max", std::to_string(limits_.pids))) limits_.pids = 0;
  }

  const Cgroup* add(const std::optional<path>& place) {
    if (!place) return nullptr;
    const path folder = *place / name_;
    // cpu and cpuacct are often one hierarchy.
    for (const Cgroup& cgroup : all_)
      if (cgroup.folder() == folder) return &cgroup;
    Cgroup cgroup(folder);
    if (!cgroup.create()) return nullptr;
    all_.push_back(std::move(cgroup));
    return &all_.back();
  }

  void limit_memory() {
    const Cgroup* cgroup = add(places_.memory);
    if (cgroup == nullptr) return;
    cgroup->write("memory.limit_in_bytes", std::to_string(limits_.memory_bytes));
    cgroup->write("memory.memsw.limit_in_bytes", std::to_string(limits_.memory_bytes));
  }

  void share_cpus() {
    const double shares = std::clamp(limits_.cpus * 1024, 2.0, 262'144.0);
    if (const Cgroup* cgroup = add(places_.cpu))
      cgroup->write("cpu.shares", std::to_string(std::lround(shares)));
  }

  CgroupPlaces places_;
  std::string name_;
  launch::ProcessLimits limits_;  // those not put on yet
  std::vector<Cgroup> all_;       // the killer first
  UniqueFd folder_;               // of the killer, where it is v2
  UniqueFd file_;                 // its cgroup.procs
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

void sweep_empty_groups(Duration older_than, const CgroupPlaces& places) {
  const auto before = std::chrono::system_clock::now() - older_than;
  for (const path& place : places_of(places)) {
    std::vector<Cgroup> empty;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(place, error)) {
      struct stat info{};
      if (!entry.path().filename().string().starts_with(kPrefix) || ::stat(entry.path().c_str(), &info) != 0)
        continue;
      const Cgroup cgroup(entry.path());
      const bool old = std::chrono::system_clock::from_time_t(info.st_mtime) < before;
      if (old && cgroup.processes().empty()) empty.push_back(cgroup);
    }
    for (const Cgroup& cgroup : empty) (void)cgroup.remove();
  }
}

}  // namespace slipway::node
