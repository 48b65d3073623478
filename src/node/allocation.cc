#include "node/allocation.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "base/subprocess.h"
#include "compute/engines/local/agent_process.h"
#include "compute/engines/local/node_folder.h"
#include "compute/machine.h"
#include "http/address.h"
#include "node/agent_config.h"
#include "node/agent_folder.h"

namespace slipway::node {
namespace {

namespace fs = std::filesystem;
using Variables = std::map<std::string, std::string>;

constexpr int kMostDeaths = 10;
constexpr Duration kOldEnough = std::chrono::minutes(10);

std::string value_of(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

uint64_t number_of(const Variables& variables, const std::string& name) {
  const std::string text = value_of(variables, name);
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The part between the commas of that rank.
std::string item_of(std::string_view list, int rank) {
  for (; rank > 0; --rank) {
    const size_t comma = list.find(',');
    if (comma == std::string_view::npos) return "";
    list.remove_prefix(comma + 1);
  }
  return std::string(list.substr(0, list.find(',')));
}

// Where other nodes reach this one: the address from which it reaches the server.
std::string own_address(const std::string& url) {
  const auto server = http::parse_address(url);
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (!server || ::getaddrinfo(server->host.c_str(), server->port.c_str(), &hints, &found) != 0)
    return "127.0.0.1";
  std::string address = "127.0.0.1";
  // Connecting a datagram socket sends nothing; it only asks the kernel for the way.
  const UniqueFd fd(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  char text[NI_MAXHOST];
  if (fd && ::connect(fd.get(), found->ai_addr, found->ai_addrlen) == 0 &&
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&name), &size) == 0 &&
      ::getnameinfo(reinterpret_cast<sockaddr*>(&name), size, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) == 0)
    address = text;
  ::freeaddrinfo(found);
  return address;
}

// A folder in a place where everybody can make one has to be ours before anything is put into it.
Status make_own_folder(const fs::path& folder) {
  SLIPWAY_TRY(make_folders(folder));
  struct stat status{};
  if (::lstat(folder.c_str(), &status) != 0) return fail(errno_error(errno, "look at " + folder.string()));
  if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 022) == 0) return {};
  return fail(ErrorCode::kPermissionDenied,
              fmt::format("{} belongs to somebody else, or others may write there", folder.string()),
              "attach the cluster with another --scratch");
}

struct Lent {
  fs::path scratch;
  NodePaths paths;
};

Result<Lent> make_node_folder(const Variables& variables) {
  for (const char* name : {"SLIPWAY_AGENT_URL", "SLIPWAY_AGENT_REQUEST", "SLIPWAY_AGENT_TOKENS"})
    if (value_of(variables, name).empty())
      return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not set", name),
                  "slipway agent --allocation is started by a job of Slipway's in Slurm");
  const compute::Machine machine = compute::detect_machine();
  const LentNode lent = lent_node(
      variables, {.cpus = machine.cpus, .memory_bytes = machine.memory_bytes, .gpus = 0, .gpu_names = {}});
  std::string scratch = value_of(variables, "SLIPWAY_AGENT_SCRATCH");
  if (scratch.empty()) scratch = fmt::format("/var/tmp/slipway-{}", ::getuid());
  SLIPWAY_TRY(make_own_folder(scratch));
  const std::string url = value_of(variables, "SLIPWAY_AGENT_URL");
  const NodeId node(fmt::format("{}-{}", value_of(variables, "SLIPWAY_AGENT_REQUEST"), lent.rank));
  SLIPWAY_TRY(check_name(node.str(), "node", 128));
  const NodePaths paths{.home = scratch, .node = node};
  SLIPWAY_TRY(make_folders(paths.attempts()));
  json::object config{{"url", url},
                      {"node", node.str()},
                      {"capacity", to_json(lent.capacity)},
                      {"gpu_indices", json::array(lent.gpu_indices.begin(), lent.gpu_indices.end())},
                      {"address", own_address(url)},
                      {"allocation", true},
                      {"shared", value_of(variables, "SLIPWAY_AGENT_SHARED")}};
  if (const std::string certificate = value_of(variables, "SLIPWAY_AGENT_CA"); !certificate.empty()) {
    SLIPWAY_TRY(replace_file(paths.folder() / "ca.pem", certificate));
    config["ca_file"] = (paths.folder() / "ca.pem").string();
  }
  SLIPWAY_TRY(
      replace_file(paths.token(), item_of(value_of(variables, "SLIPWAY_AGENT_TOKENS"), lent.rank) + "\n"));
  SLIPWAY_TRY(replace_file(paths.config(), json::serialize(config) + "\n"));
  return Lent{.scratch = scratch, .paths = paths};
}

// Nodes that were lent are never lent again under the same name: what is left of one is nobody's.
void clear_left_nodes(const Lent& lent) {
  for (const NodeId& other : compute::node_folders(lent.scratch)) {
    const NodePaths paths{.home = lent.scratch, .node = other};
    std::error_code failed;
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(paths.folder(), failed);
    if (failed || other == lent.paths.node || age < kOldEnough) continue;
    if (const auto gone = compute::NodeFolder(lent.scratch, other).remove_step(clear_attempt); !gone)
      log_warning("allocation.left_node", {{"node", other}, {"error", gone.error()}});
  }
}

// The tokens stay with the guard.
Variables agents_variables(const Variables& variables) {
  Variables kept = variables;
  std::erase_if(kept, [](const auto& entry) { return entry.first.starts_with("SLIPWAY_AGENT_"); });
  return kept;
}

Result<pid_t> start_agent(const Lent& lent, const Variables& variables) {
  const fs::path log = lent.paths.folder() / "agent.log";
  const UniqueFd out(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!out) return fail(errno_error(errno, "open " + log.string()));
  return spawn_program(
      {.program = compute::own_program(),
       .arguments = {"slipway", "agent", "--home", lent.scratch.string(), "--node", lent.paths.node.str()},
       .environment = environment_list(agents_variables(variables)),
       .folder = lent.scratch,
       .out = out.get(),
       .err = out.get()});
}

// Waits until the agent ends; passes on what the engine says. Other children are orphans of its.
int guard(pid_t agent, const sigset_t& signals) {
  while (true) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0)
      if (ended == agent) return status;
    const int signal = ::sigwaitinfo(&signals, nullptr);
    if (signal == SIGTERM || signal == SIGINT) ::kill(agent, SIGTERM);
  }
}

}  // namespace

LentNode lent_node(const Variables& variables, const NodeCapacity& machine) {
  LentNode lent{
      .rank = static_cast<int>(number_of(variables, "SLURM_PROCID")), .capacity = machine, .gpu_indices = {}};
  if (const uint64_t cpus = number_of(variables, "SLURM_CPUS_ON_NODE"); cpus > 0)
    lent.capacity.cpus = static_cast<double>(cpus);
  uint64_t megabytes = number_of(variables, "SLURM_MEM_PER_NODE");
  if (megabytes == 0)
    megabytes = number_of(variables, "SLURM_MEM_PER_CPU") * number_of(variables, "SLURM_CPUS_ON_NODE");
  if (megabytes > 0) lent.capacity.memory_bytes = megabytes << 20;
  const std::string gpus = value_of(variables, "CUDA_VISIBLE_DEVICES");
  for (int rank = 0; !gpus.empty(); ++rank) {
    const std::string item = item_of(gpus, rank);
    int index = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), index);
    if (item.empty() || error != std::errc() || end != item.data() + item.size()) break;
    lent.gpu_indices.push_back(index);
  }
  lent.capacity.gpus = static_cast<int>(lent.gpu_indices.size());
  return lent;
}

Status run_allocation() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);

  const Variables variables = own_environment();
  SLIPWAY_ASSIGN(const Lent lent, make_node_folder(variables));
  std::string how;
  for (int deaths = 0; deaths < kMostDeaths; ++deaths) {
    SLIPWAY_ASSIGN(const pid_t agent, start_agent(lent, variables));
    if (deaths == 0) clear_left_nodes(lent);
    const int status = guard(agent, signals);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      if (const auto gone = compute::NodeFolder(lent.scratch, lent.paths.node).remove_step(clear_attempt);
          !gone)
        log_warning("allocation.folder_kept", {{"node", lent.paths.node}, {"error", gone.error()}});
      return {};
    }
    how = describe_wait_status(status);
    log_warning("allocation.agent_died", {{"node", lent.paths.node}, {"how", how}});
  }
  return fail(ErrorCode::kUnavailable, fmt::format("the agent of {} keeps dying: {}", lent.paths.node, how));
}

}  // namespace slipway::node
