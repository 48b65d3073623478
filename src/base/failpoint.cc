#include "base/failpoint.h"

#ifdef SLIPWAY_WITH_FAILPOINTS

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace slipway {
namespace {

struct Order {
  bool kill = false;
  int at = 0;  // 0: every pass
  int passes = 0;
};

std::map<std::string, Order> read_orders() {
  std::map<std::string, Order> orders;
  const char* text = std::getenv("SLIPWAY_FAILPOINTS");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view action = item.substr(equals + 1);
    Order order;
    if (const size_t at = action.find('@'); at != std::string_view::npos) {
      std::from_chars(action.data() + at + 1, action.data() + action.size(), order.at);
      action = action.substr(0, at);
    }
    order.kill = action == "kill";
    orders.emplace(item.substr(0, equals), order);
  }
  return orders;
}

void record(const std::string& name) {
  static std::set<std::string> seen;
  const char* path = std::getenv("SLIPWAY_FAILPOINT_RECORD");
  if (path == nullptr || !seen.insert(name).second) return;
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const std::string line = name + "\n";
  (void)!::write(fd, line.data(), line.size());
  ::close(fd);
}

}  // namespace

bool failpoint_hit(const char* name) {
  static std::mutex mutex;
  static std::map<std::string, Order> orders = read_orders();
  const std::lock_guard lock(mutex);
  record(name);
  const auto found = orders.find(name);
  if (found == orders.end()) return false;
  Order& order = found->second;
  ++order.passes;
  if (order.at != 0 && order.at != order.passes) return false;
  if (order.kill) ::kill(::getpid(), SIGKILL);
  return true;
}

}  // namespace slipway

#endif
