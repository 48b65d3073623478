#include "node/process_group_cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>

#include "base/fd.h"
#include "base/file.h"

namespace slipway::node {
namespace {

constexpr size_t kMaxFile = 16 << 20;

// Depth first: a cgroup with children cannot be removed.
void remove_children(const std::filesystem::path& folder, int depth) {
  constexpr int kMaxDepth = 32;
  if (depth > kMaxDepth) return;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!entry.is_directory(error) || entry.is_symlink(error)) continue;
    remove_children(entry.path(), depth + 1);
    ::rmdir(entry.path().c_str());
  }
}

}  // namespace

bool Cgroup::create() const {
  return ::mkdir(folder_.c_str(), 0755) == 0 || errno == EEXIST;
}

bool Cgroup::has(std::string_view file) const {
  return ::access((folder_ / file).c_str(), F_OK) == 0;
}

bool Cgroup::write(std::string_view file, std::string_view value) const {
  const UniqueFd fd(::open((folder_ / file).c_str(), O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

std::optional<uint64_t> Cgroup::read_number(std::string_view file, std::string_view key) const {
  const auto text = read_file(folder_ / file, kMaxFile);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!key.empty()) {
      if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') continue;
      line.remove_prefix(key.size() + 1);
    }
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error == std::errc{}) return number;
    return std::nullopt;
  }
  return std::nullopt;
}

std::vector<pid_t> Cgroup::processes() const {
  std::vector<pid_t> pids;
  const auto text = read_file(folder_ / "cgroup.procs", kMaxFile);
  std::string_view rest = text ? std::string_view(*text) : "";
  while (!rest.empty()) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
    // 0 stands for a process of another pid namespace: kill(0) would be ourselves.
    if (error == std::errc{} && pid > 0) pids.push_back(pid);
    rest.remove_prefix(std::min(rest.size(), rest.find('\n') + 1));
    if (error != std::errc{}) break;
  }
  return pids;
}

void Cgroup::kill_all() const {
  if (write("cgroup.kill", "1")) return;
  // Frozen, nobody forks away between the list and the signal. A v2 process dies frozen; a v1 one once
  // thawed.
  const bool v2 = write("cgroup.freeze", "1");
  const bool v1 = !v2 && write("freezer.state", "FROZEN");
  constexpr int kMaxRounds = 64;
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::vector<pid_t> pids = processes();
    for (const pid_t pid : pids) ::kill(pid, SIGKILL);
    if (pids.empty() || v1 || v2) break;
  }
  if (v2) write("cgroup.freeze", "0");
  if (v1) write("freezer.state", "THAWED");
}

bool Cgroup::remove() const {
  using namespace std::chrono_literals;
  auto wait = 100us;
  for (int attempt = 0; attempt < 13; ++attempt) {
    if (::rmdir(folder_.c_str()) == 0 || errno == ENOENT) return true;
    if (errno != EBUSY && errno != ENOTEMPTY) return false;
    remove_children(folder_, 0);
    std::this_thread::sleep_for(wait);
    wait *= 2;
    if (wait > 50ms) wait = 50ms;
  }
  return false;
}

}  // namespace slipway::node
