#include "cli/runs.h"

namespace slipway::cli {

void add_run_commands(Command root, Context& context) {
  Command run =
      root.command("run", "Look at runs, follow, stop, repeat, compare and delete them", "slipway run");
  add_run_list(run, context);
  add_run_show(run, context);
  add_run_children(run, context);
  add_run_logs(run, context);
  add_run_files(run, context);
  add_run_metrics(run, context);
  add_run_changes(run, context);
  add_run_diff(run, context);
}

}  // namespace slipway::cli
