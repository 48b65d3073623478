// `slipway join`: this machine becomes a node of a cluster of another machine's server.
#include "cli/join.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>

#include "base/fd.h"
#include "base/file.h"
#include "cli/answer.h"
#include "cli/quantities.h"
#include "cli/session.h"
#include "http/address.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

struct JoinOptions {
  std::string cluster;
  std::string name;
  std::string address;
  std::optional<double> cpus;
  std::optional<ByteCount> memory;
  std::optional<int> gpus;
};

// The address that this machine has on the way to the server: the other nodes mostly reach it there too.
Result<std::string> address_towards(const std::string& url) {
  SLIPWAY_ASSIGN(const http::Address server, http::parse_address(url));
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(server.host.c_str(), server.port.c_str(), &hints, &found); error != 0)
    return fail(ErrorCode::kUnreachable,
                fmt::format("{} cannot be found: {}", server.host, ::gai_strerror(error)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  const UniqueFd socket(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  char text[NI_MAXHOST] = "";
  // Connecting such a socket sends nothing: the system only looks up the way.
  if (!socket || ::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&own), size, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) != 0)
    return fail(ErrorCode::kUnreachable, fmt::format("there is no way from here to {}", server.host),
                "name the address at which other nodes reach this machine: --address");
  return std::string(text);
}

// What the agent finds on the machine, where the options do not say less.
json::object capacity_of(const JoinOptions& options) {
  json::object capacity;
  if (options.cpus) capacity["cpus"] = *options.cpus;
  if (options.memory) capacity["memory_bytes"] = options.memory->bytes;
  if (options.gpus) capacity["gpus"] = *options.gpus;
  return capacity;
}

// The folder that an agent starts from. The token goes first: with agent.json the node is whole.
Status write_node(const fs::path& home, const std::string& node, const std::string& token,
                  const json::object& document) {
  const fs::path folder = home / "nodes" / node;
  SLIPWAY_TRY(make_folders(folder / "attempts"));
  SLIPWAY_TRY(replace_file(folder / "token", token + "\n"));
  return replace_file(folder / "agent.json", json::serialize(document) + "\n");
}

Status check_home(const fs::path& home) {
  std::error_code error;
  if (!fs::exists(home / "server.lock", error)) return {};
  return fail(ErrorCode::kConflict, fmt::format("{} is the home of a server", home.string()),
              "a node that joins has a home of its own: --home DIR");
}

Result<NodeId> join(Context& context, const JoinOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  json::object body;
  if (!options.name.empty()) body["name"] = options.name;
  std::string address = options.address;
  if (address.empty()) {
    SLIPWAY_ASSIGN(address, address_towards(session.url()));
  }
  SLIPWAY_ASSIGN(const json::object made,
                 session.create(session.in_workspace(
                                    fmt::format("/compute/{}/nodes", http::percent_encode(options.cluster))),
                                body));
  const std::string node = text_at(made, "node");
  SLIPWAY_TRY(check_name(node, "node", 128));
  json::object document{{"url", session.url()},
                        {"node", node},
                        {"workspace", session.workspace()},
                        {"cluster", options.cluster},
                        {"capacity_limits", capacity_of(options)},
                        {"address", address}};
  if (const std::string& ca = session.connection().http.ca_file; !ca.empty())
    document["ca_file"] = fs::absolute(ca).string();
  SLIPWAY_TRY(write_node(context.home(), node, text_at(made, "token"), document));
  context.console.hint(fmt::format("node {} of cluster '{}', reached at {}", node, options.cluster, address));
  return NodeId(node);
}

Result<int> join_and_work(Context& context, const JoinOptions& options) {
  SLIPWAY_TRY(check_name(options.cluster, "cluster"));
  if (!options.name.empty()) SLIPWAY_TRY(check_name(options.name, "node"));
  SLIPWAY_TRY(check_home(context.home()));
  std::error_code error;
  NodeId node(options.name);
  // One that has joined under this name before goes on.
  if (options.name.empty() || !fs::exists(context.home() / "nodes" / options.name / "agent.json", error)) {
    SLIPWAY_ASSIGN(node, join(context, options));
  }
  context.console.flush();
  SLIPWAY_TRY(context.roles.run_agent(context.home(), node));
  return 0;
}

}  // namespace

void add_join_command(Command root, Context& context) {
  const auto options = std::make_shared<JoinOptions>();
  Command join =
      root.command("join", "Make this machine a node of a cluster, until it is stopped",
                   "slipway --server https://head:7070 --token-file owner.token join own --name gpu1");
  join.example("slipway join own --name gpu1 --address 10.0.0.7 --gpus 2");
  join.positional("CLUSTER", options->cluster,
                  "the cluster; one of its own: slipway compute create own --max 0", Completes::kCluster);
  join.option("--name", options->name, "NODE", "the node's name; the same after a restart (a new one)");
  join.option("--address", options->address, "ADDRESS",
              "where the other nodes reach it (that of the way to the server)");
  join.option("--cpus", options->cpus, "N", "CPUs that runs may have (all)");
  join.option("--memory", options->memory, "SIZE", "memory that runs may have (all)");
  join.option("--gpus", options->gpus, "N", "GPUs that runs may have (all)");
  join.action([options, &context] { return join_and_work(context, *options); });
}

}  // namespace slipway::cli
