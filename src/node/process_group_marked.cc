#include "node/process_group_marked.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/file.h"
#include "node/process_group.h"
#include "node/process_memory.h"

namespace slipway::node {
namespace {

constexpr size_t kMaxEnvironment = 4 << 20;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

bool has_mark(pid_t pid, std::string_view entry) {
  const auto environment = read_file(fmt::format("/proc/{}/environ", pid), kMaxEnvironment);
  if (!environment) return false;
  std::string_view rest = *environment;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find('\0'));
    if (item == entry) return true;
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
  }
  return false;
}

// Fields 14 and 15 of /proc/PID/stat, in clock ticks; the name before them may hold blanks and brackets.
std::optional<uint64_t> cpu_ticks(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid), 4096);
  const size_t name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return std::nullopt;
  const char* at = text->c_str() + name_end + 1;
  uint64_t ticks = 0;
  for (int field = 3; field <= 15; ++field) {
    while (*at == ' ') ++at;
    const char* end = at + std::strcspn(at, " ");
    uint64_t value = 0;
    if (field >= 14 && std::from_chars(at, end, value).ec == std::errc{}) ticks += value;
    at = end;
  }
  return ticks;
}

class MarkedGroup final : public ProcessGroup {
 public:
  explicit MarkedGroup(std::string mark) : mark_(std::move(mark)) {}

  Entrance entrance() const override { return {}; }
  void bound() override {}
  void signal_all(int signal) override { signal_marked(mark_, signal); }

  // A process may fork between being found and being killed; its child is found in the next round.
  void kill_all() override {
    for (int round = 0; round < 16 && signal_marked(mark_, SIGKILL) > 0; ++round) {
    }
  }

  bool is_empty() override {
    bool empty = true;
    for_each_marked(mark_, [&](pid_t, int) { empty = false; });
    return empty;
  }

  std::optional<Duration> cpu_time() override {
    rusage reaped{};
    ::getrusage(RUSAGE_CHILDREN, &reaped);
    Duration total = std::chrono::seconds(reaped.ru_utime.tv_sec + reaped.ru_stime.tv_sec) +
                     std::chrono::microseconds(reaped.ru_utime.tv_usec + reaped.ru_stime.tv_usec);
    const auto ticks_per_second = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
    for_each_marked(mark_, [&](pid_t pid, int) {
      if (const auto ticks = cpu_ticks(pid)) total += Duration(*ticks * 1'000'000 / ticks_per_second);
    });
    return total;
  }

  std::optional<uint64_t> memory_bytes() override {
    uint64_t total = 0;
    for_each_marked(mark_, [&](pid_t pid, int) { total += resident_bytes(pid); });
    return total;
  }

  uint64_t out_of_memory_kills() override { return 0; }
  void remove() override {}
  std::vector<std::filesystem::path> folders() const override { return {}; }

 private:
  std::string mark_;
};

}  // namespace

void for_each_marked(std::string_view mark, const std::function<void(pid_t pid, int pidfd)>& found) {
  const std::string entry = fmt::format("{}={}", launch::kMarkVariable, mark);
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir("/proc"));
  if (!folder) return;
  while (const dirent* item = ::readdir(folder.get())) {
    pid_t pid = 0;
    const char* end = item->d_name + std::strlen(item->d_name);
    if (std::from_chars(item->d_name, end, pid).ptr != end || pid <= 0 || pid == ::getpid()) continue;
    // The pidfd comes first: should the number be used again meanwhile, the signal finds nobody.
    const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (pidfd && has_mark(pid, entry)) found(pid, pidfd.get());
  }
}

size_t signal_marked(std::string_view mark, int signal) {
  size_t count = 0;
  for_each_marked(mark, [&](pid_t, int pidfd) {
    if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0) ++count;
  });
  return count;
}

std::unique_ptr<ProcessGroup> make_marked_group(const std::string& mark) {
  return std::make_unique<MarkedGroup>(mark);
}

}  // namespace slipway::node
