// The commands below `slipway run`, one file each.
#pragma once

#include "cli/command.h"
#include "cli/context.h"

namespace slipway::cli {

void add_run_list(Command run, Context& context);
void add_run_show(Command run, Context& context);
void add_run_children(Command run, Context& context);
void add_run_logs(Command run, Context& context);
void add_run_files(Command run, Context& context);  // files, download
void add_run_metrics(Command run, Context& context);
void add_run_changes(Command run, Context& context);  // wait, cancel, rerun, delete
void add_run_diff(Command run, Context& context);

}  // namespace slipway::cli
