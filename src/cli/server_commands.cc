#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <thread>

#include "base/file.h"
#include "cli/answer.h"
#include "cli/context.h"
#include "cli/daemon.h"
#include "cli/listen.h"
#include "cli/session.h"

namespace slipway::cli {
namespace {

constexpr std::chrono::seconds kStopTime{120};

Status refuse_second_server(const std::filesystem::path& home) {
  if (!FileLock::is_held(home / "server.lock")) return {};
  const std::optional<ServerRecord> record = read_server_record(home);
  const std::optional<FileLock::Holder> holder = FileLock::holder(home / "server.lock");
  const int64_t pid = holder ? holder->pid : record ? record->pid : 0;
  return fail(ErrorCode::kConflict,
              fmt::format("a server is already running for {}: pid {}{}", home.string(), pid,
                          record ? " at " + record->url : ", still starting"),
              "look at it: slipway status\nstop it: slipway down\nor use another home: --home DIR");
}

void print_banner(Context& context, const ServerSettings& settings, const std::string& url, bool detached) {
  Console& console = context.console;
  const std::string token = (settings.home / "token").string();
  if (console.json()) {
    json::object about{
        {"url", url}, {"home", settings.home.string()}, {"auth", settings.require_token ? "token" : "none"}};
    if (settings.require_token) about["token_file"] = token;
    console.print_json(about);
    console.flush();
    return;
  }
  const bool colour = console.colour_out();
  console.line(fmt::format("Slipway {} answers at {}", SLIPWAY_VERSION, paint(url, Colour::kBold, colour)));
  console.line(
      settings.require_token
          ? fmt::format("  token:  in {}", token)
          : "  token:  none is asked for (--auth none): every program of this machine may run jobs here");
  console.line(fmt::format("  home:   {}", settings.home.string()));
  console.line("  try:    slipway submit --follow -- python3 -c 'print(\"hello\")'");
  console.line(detached ? "  stop:   slipway down" : "  stop:   Ctrl-C, or slipway down");
  console.flush();
}

std::string listen_text(const ServerSettings& settings) {
  const bool v6 = settings.address.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", settings.address, v6 ? "]" : "", settings.port);
}

Result<int> run_detached(Context& context, const ServerSettings& settings) {
  const std::filesystem::path log = settings.home / "server.log";
  std::error_code none_yet;
  const uintmax_t size = std::filesystem::file_size(log, none_yet);
  std::vector<std::string> arguments{"server",
                                     "--home",
                                     settings.home.string(),
                                     "--listen",
                                     listen_text(settings),
                                     "--auth",
                                     settings.require_token ? "token" : "none",
                                     "--log-to-file"};
  if (!settings.tls_certificate.empty())
    arguments.insert(arguments.end(),
                     {"--tls-cert", std::filesystem::absolute(settings.tls_certificate).string(), "--tls-key",
                      std::filesystem::absolute(settings.tls_key).string()});
  SLIPWAY_ASSIGN(const pid_t pid, start_in_background(arguments, log));
  SLIPWAY_ASSIGN(const std::string url, wait_until_it_answers(pid, settings.home, log, none_yet ? 0 : size));
  print_banner(context, settings, url, true);
  return 0;
}

Result<int> run_server(Context& context, const UpOptions& options, bool banner) {
  SLIPWAY_ASSIGN(ServerSettings settings, server_settings(options, context.home()));
  SLIPWAY_TRY(make_folders(settings.home));
  SLIPWAY_TRY(refuse_second_server(settings.home));
  if (options.detach) return run_detached(context, settings);
  if (banner)
    settings.on_ready = [&context, settings](const std::string& url) {
      print_banner(context, settings, url, false);
    };
  SLIPWAY_TRY(context.roles.run_server(settings));
  return 0;
}

void add_listen_options(Command command, UpOptions& options) {
  command.option("--listen", options.listen, "ADDR",
                 "address and port (127.0.0.1:7070); other machines need TLS");
  command.option("--tls-cert", options.tls_certificate, "FILE", "certificate with its chain, PEM",
                 Completes::kFile);
  command.option("--tls-key", options.tls_key, "FILE", "its key, PEM", Completes::kFile);
  command.choice("--auth", options.auth, {"token", "none"}, "none: ask for no token, on loopback only");
}

struct DownOptions {
  bool cancel = false;
  bool leave = false;
};

// Waits until the server of the home has let go of its lock.
Status wait_until_stopped(Context& context, const std::filesystem::path& home) {
  const auto end = std::chrono::steady_clock::now() + kStopTime;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (FileLock::is_held(home / "server.lock")) {
    const auto now = std::chrono::steady_clock::now();
    if (now > end)
      return fail(
          ErrorCode::kTimeout,
          fmt::format("the server of {} has not stopped within {} s", home.string(), kStopTime.count()),
          fmt::format("see {}", (home / "server.log").string()));
    if (now > patience) context.console.progress("waiting for the server to stop ...");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  context.console.progress("");
  return {};
}

Result<int> stop_server(Context& context, const DownOptions& options) {
  if (options.cancel && options.leave)
    return fail(ErrorCode::kInvalidArgument, "--cancel and --leave cannot be combined",
                "--cancel stops the runs; --leave lets them go on without the server");
  const std::filesystem::path home = context.home();
  const bool of_home = context.options.server.empty() && FileLock::is_held(home / "server.lock");
  if (context.options.server.empty() && !of_home) {
    context.console.hint(fmt::format("no server is running for {}", home.string()));
    if (context.console.json()) context.console.print_json({{"stopped", false}});
    return 0;
  }
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  Result<json::object> answer = session.change(http::Method::kPost, "/api/v1/shutdown",
                                               {{"cancel", options.cancel}, {"leave", options.leave}});
  if (!answer) {
    Error error = std::move(answer).error();
    if (error.code == ErrorCode::kConflict)
      error.next =
          "stop them too: slipway down --cancel\nor let them go on without the server: slipway down --leave";
    // It holds its lock and does not answer: then a signal, to the process that holds the lock and to no
    // other.
    const std::optional<FileLock::Holder> holder = FileLock::holder(home / "server.lock");
    if (error.code != ErrorCode::kUnreachable || !of_home || !holder) return fail(std::move(error));
    ::kill(holder->pid, SIGTERM);
  }
  if (of_home) SLIPWAY_TRY(wait_until_stopped(context, home));
  if (context.console.json()) context.console.print_json({{"stopped", true}});
  context.console.hint(of_home ? "the server has stopped" : "the server was asked to stop");
  return 0;
}

void add_up(Command root, Context& context) {
  const auto options = std::make_shared<UpOptions>();
  Command up = root.command("up", "Start the server and this machine's compute", "slipway up --detach");
  up.example("slipway up --home /srv/slipway --listen 0.0.0.0:7070 --tls-cert cert.pem --tls-key key.pem");
  add_listen_options(up, *options);
  up.flag("--detach,-d", options->detach, "return when it answers and leave it in the background");
  up.action([options, &context] {
    options->log_to_file = true;
    return run_server(context, *options, true);
  });
}

void add_down(Command root, Context& context) {
  const auto options = std::make_shared<DownOptions>();
  Command down = root.command("down", "Stop the server", "slipway down");
  down.flag("--cancel", options->cancel, "cancel the runs that have not ended");
  down.flag("--leave", options->leave, "let running jobs go on; the next server takes them up again");
  down.action([options, &context] { return stop_server(context, *options); });
}

void add_server(Command root, Context& context) {
  const auto options = std::make_shared<UpOptions>();
  Command server = root.command("server", "Be the server, in the foreground, with the log on stderr",
                                "slipway server --home /srv/slipway");
  add_listen_options(server, *options);
  server.flag("--log-to-file", options->log_to_file, "log to server.log in the home instead");
  server.action([options, &context] { return run_server(context, *options, false); });
}

void add_agent(Command root, Context& context) {
  const auto node = std::make_shared<std::string>();
  Command agent =
      root.command("agent", "Be a node; the server starts one for each", "slipway agent --node local-3f9a");
  agent.hide();
  agent.option("--node", *node, "NODE", "the node's id");
  const auto allocation = std::make_shared<bool>(false);
  agent.flag("--allocation", *allocation, "be the node that the Slurm job around it has lent");
  agent.action([node, allocation, &context]() -> Result<int> {
    if (*allocation) {
      SLIPWAY_TRY(context.roles.run_allocation());
      return 0;
    }
    SLIPWAY_ASSIGN(const NodeId id, parse_name<NodeId>(*node, "node", 128));
    SLIPWAY_TRY(context.roles.run_agent(context.home(), id));
    return 0;
  });
}

void add_supervise(Command root, Context& context) {
  const auto folder = std::make_shared<std::string>();
  Command supervise = root.command("supervise", "Watch over one attempt; the agent starts one for each",
                                   "slipway supervise DIR");
  supervise.hide();
  supervise.positional("DIR", *folder, "the attempt's folder", Completes::kFolder);
  supervise.action([folder, &context]() -> Result<int> {
    SLIPWAY_TRY(context.roles.run_supervisor(*folder));
    return 0;
  });
}

void add_routes(Command root, Context& context) {
  Command routes = root.command("routes", "List the routes of the HTTP API and who may call each",
                                "slipway routes --json");
  routes.hide();
  routes.action([&context]() -> Result<int> {
    context.console.print_json(context.roles.describe_routes());
    return 0;
  });
}

}  // namespace

void add_server_commands(Command root, Context& context) {
  add_up(root, context);
  add_down(root, context);
  add_server(root, context);
  add_agent(root, context);
  add_supervise(root, context);
  add_routes(root, context);
}

}  // namespace slipway::cli
