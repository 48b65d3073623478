#include "cli/cli.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>

#include "cli/completion_commands.h"
#include "cli/context.h"
#include "cli/help.h"
#include "cli/join.h"

namespace slipway::cli {
namespace {

void add_global_options(Command root, GlobalOptions& options) {
  root.flag("--json", options.json, "print JSON instead of text, errors too");
  root.option("--server", options.server, "URL",
              "the server to talk to (or $SLIPWAY_URL; else the one of the home)", Completes::kNothing);
  root.option("--workspace", options.workspace, "NAME",
              "the workspace (or $SLIPWAY_WORKSPACE; else 'default')", Completes::kWorkspace);
  root.option("--home", options.home, "DIR",
              "where Slipway keeps its files (or $SLIPWAY_HOME; else ~/.slipway)", Completes::kFolder);
  root.option("--token-file", options.token_file, "FILE",
              "read the token from here (or $SLIPWAY_TOKEN holds it)", Completes::kFile);
  root.option("--ca-file", options.ca_file, "FILE", "trust this certificate for https (or $SLIPWAY_CA_FILE)",
              Completes::kFile);
  root.flag("--version", options.version, "print the version");
}

// In the order help shows them.
void add_all_commands(Command root, Context& context) {
  add_server_commands(root, context);
  add_submit_command(root, context);
  add_run_commands(root, context);
  add_experiment_commands(root, context);
  add_environment_commands(root, context);
  add_join_command(root, context);
  add_compute_commands(root, context);
  add_data_commands(root, context);
  add_datastore_commands(root, context);
  add_model_commands(root, context);
  add_workspace_commands(root, context);
  add_token_commands(root, context);
  add_deploy_command(root, context);
  add_service_commands(root, context);
  add_serve_command(root, context);
  add_status_command(root, context);
  add_doctor_command(root, context);
  add_log_command(root, context);
  add_completion_commands(root, context);
}

int run_chosen(Context& context, CommandLine& line, std::vector<std::string> arguments) {
  auto chosen = line.parse(std::move(arguments));
  context.console.set_json(context.options.json);
  if (!chosen) {
    context.console.error(chosen.error());
    return exit_code(chosen.error().code);
  }
  if (chosen->help && !context.options.version) {
    context.console.out(help_text(*chosen->command, context.console.width(), context.console.colour_out()));
    return 0;
  }
  if (context.options.version) {
    if (context.console.json()) {
      context.console.print_json({{"name", "slipway"}, {"version", SLIPWAY_VERSION}});
    } else {
      context.console.line("slipway " SLIPWAY_VERSION);
    }
    return 0;
  }
  const Result<int> outcome = chosen->command->action();
  if (outcome) return *outcome;
  context.console.error(outcome.error());
  return exit_code(outcome.error().code);
}

}  // namespace

std::filesystem::path Context::home() const {
  std::error_code no_current_folder;
  if (!options.home.empty()) return std::filesystem::absolute(options.home, no_current_folder);
  if (const char* given = std::getenv("SLIPWAY_HOME"); given != nullptr && *given != '\0')
    return std::filesystem::absolute(given, no_current_folder);
  const char* user = std::getenv("HOME");
  return std::filesystem::path(user != nullptr && *user != '\0' ? user : "/") / ".slipway";
}

int run_cli(int argc, char** argv, const Roles& roles) {
  // A closed reader is met as EPIPE where we write (Console), not as a signal in the middle of a request.
  std::signal(SIGPIPE, SIG_IGN);
  Console console = Console::of_this_process();
  const SystemClock clock;
  Context context{.console = console, .roles = roles, .clock = clock, .options = {}, .tree = nullptr};
  CommandLine line("slipway", "Train and serve models on machines of your own.");
  context.tree = &line.tree();
  add_global_options(line.root(), context.options);
  add_all_commands(line.root(), context);

  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  const bool completing = !arguments.empty() && arguments.front() == "__complete";
  const int code = completing ? print_completions(context, {arguments.begin() + 1, arguments.end()})
                              : run_chosen(context, line, arguments);
  console.flush();
  return code;
}

}  // namespace slipway::cli
