// What every command works with.
#pragma once

#include <filesystem>
#include <string>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/console.h"

namespace slipway::cli {

// The options that may stand anywhere on the line.
struct GlobalOptions {
  std::string home;        // empty: $SLIPWAY_HOME or ~/.slipway
  std::string server;      // empty: $SLIPWAY_URL or the one of the home
  std::string token_file;  // empty: $SLIPWAY_TOKEN or the home's
  std::string ca_file;     // empty: $SLIPWAY_CA_FILE or the system's store
  std::string workspace;   // empty: $SLIPWAY_WORKSPACE or "default"
  bool json = false;
  bool version = false;
};

// Lives as long as the command line. References outlive it.
struct Context {
  Console& console;
  const Roles& roles;
  const Clock& clock;
  GlobalOptions options;
  const CommandNode* tree = nullptr;  // for completion

  std::filesystem::path home() const;
};

// Each declares the commands of one file below `root`.
void add_server_commands(Command root, Context& context);  // up, down, server, agent, supervise
void add_submit_command(Command root, Context& context);
void add_run_commands(Command root, Context& context);
void add_environment_commands(Command root, Context& context);
void add_compute_commands(Command root, Context& context);
void add_data_commands(Command root, Context& context);
void add_datastore_commands(Command root, Context& context);
void add_model_commands(Command root, Context& context);
void add_workspace_commands(Command root, Context& context);
void add_experiment_commands(Command root, Context& context);
void add_token_commands(Command root, Context& context);
void add_serve_command(Command root, Context& context);
void add_deploy_command(Command root, Context& context);
void add_service_commands(Command root, Context& context);
void add_status_command(Command root, Context& context);
void add_doctor_command(Command root, Context& context);
void add_log_command(Command root, Context& context);
void add_completion_commands(Command root, Context& context);

}  // namespace slipway::cli
