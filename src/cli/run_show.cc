#include <memory>

#include "cli/run_view.h"
#include "cli/runs.h"
#include "cli/session.h"

namespace slipway::cli {
namespace {

Result<int> show_run(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  RunPage page;
  SLIPWAY_ASSIGN(page.run, session.find_run(name));
  if (context.console.json()) {
    context.console.print_json(page.run);
    return 0;
  }
  const std::string path = session.run_path(page.run);
  SLIPWAY_ASSIGN(page.events, session.list(path + "/events", {}, 0));
  SLIPWAY_ASSIGN(page.metrics, session.list(path + "/metrics", {}, 50));
  SLIPWAY_ASSIGN(page.children, session.list(path + "/children", {}, 20));
  page.url = session.url();
  context.console.out(
      run_page_text(page, context.clock.now(), context.console.width(), context.console.colour_out()));
  return 0;
}

}  // namespace

void add_run_show(Command run, Context& context) {
  const auto name = std::make_shared<std::string>();
  Command show =
      run.command("show", "Show a run: what it is, how it went, why it waits", "slipway run show latest");
  show.positional("RUN", *name, "an id, a unique beginning of one, 'latest' or '@2' (second newest)",
                  Completes::kRun);
  show.action([name, &context] { return show_run(context, *name); });
}

}  // namespace slipway::cli
