#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/metric_view.h"
#include "cli/quantities.h"
#include "cli/runs.h"
#include "cli/session.h"
#include "cli/table.h"

namespace slipway::cli {
namespace {

constexpr size_t kCurveWidth = 24;
constexpr size_t kCurves = 20;  // each costs a request
constexpr size_t kCurvePoints = 1000;

std::vector<double> values_of(const json::array& points) {
  std::vector<double> values;
  values.reserve(points.size());
  for (const json::value& point : points) values.push_back(number_at(point.as_object(), "value").value_or(0));
  return values;
}

Result<int> print_points(Context& context, Session& session, const std::string& path,
                         const std::string& name) {
  SLIPWAY_ASSIGN(json::array points, session.list(path + "/metrics/points", {{"name", name}}, 0));
  SLIPWAY_ASSIGN(json::array values, session.list(path + "/metrics/values", {{"name", name}}, 0));
  Console& console = context.console;
  if (console.json()) {
    console.print_json(json::object{{"items", std::move(points)}, {"values", std::move(values)}});
    return 0;
  }
  if (points.empty() && values.empty())
    return fail(ErrorCode::kNotFound, fmt::format("the run has no metric '{}'", printable(name, 64)),
                "without --name the metrics it has are listed");
  if (console.out_is_terminal() && !points.empty())
    console.line(sparkline(values_of(points), static_cast<size_t>(std::max(console.width() - 2, 10))));
  Table table(
      {{"STEP", Align::kRight}, {"TIME"}, {"VALUE", values.empty() ? Align::kRight : Align::kLeft, 20}});
  for (const json::object& item : in_order_of_logging(points, values)) {
    const auto time = time_at(item, "time");
    table.add({std::to_string(integer_at(item, "step")), time ? clock_time(*time, context.clock.now()) : "-",
               logged_value_text(item)});
  }
  console.out(table.render(console.width(), console.colour_out()));
  return 0;
}

Result<int> print_summary(Context& context, Session& session, const std::string& path) {
  SLIPWAY_ASSIGN(json::array metrics, session.list(path + "/metrics", {}, 0));
  Console& console = context.console;
  if (console.json()) {
    console.print_json(json::object{{"items", std::move(metrics)}});
    return 0;
  }
  if (metrics.empty()) {
    console.hint("the run has logged no metric; a job logs one with: slipway log loss=0.12 --step 7");
    return 0;
  }
  const bool curves = console.out_is_terminal() && metrics.size() <= kCurves;
  Table table({{"METRIC", Align::kLeft, 12},
               {"POINTS", Align::kRight},
               {"LAST", Align::kRight},
               {"STEP", Align::kRight},
               {"MIN", Align::kRight},
               {"MAX", Align::kRight},
               {curves ? "CURVE" : ""}});
  for (const json::value& item : metrics) {
    const json::object& metric = item.as_object();
    const int64_t count = integer_at(metric, "count");
    const std::string logged = std::to_string(count + integer_at(metric, "values"));
    if (count == 0) {
      table.add({text_at(metric, "name"), logged, text_at(metric, "kind"), "", "", "", ""});
      continue;
    }
    const json::object& last = object_at(metric, "last");
    std::string curve;
    if (curves) {
      SLIPWAY_ASSIGN(
          const json::array points,
          session.list(path + "/metrics/points", {{"name", text_at(metric, "name")}}, kCurvePoints));
      curve = sparkline(values_of(points), kCurveWidth);
    }
    table.add({text_at(metric, "name"), logged, metric_text(number_at(last, "value")),
               std::to_string(integer_at(last, "step")), metric_text(number_at(metric, "min")),
               metric_text(number_at(metric, "max")), curve});
  }
  console.out(table.render(console.width(), console.colour_out()));
  return 0;
}

}  // namespace

void add_run_metrics(Command run, Context& context) {
  struct Options {
    std::string run;
    std::string name;
  };
  const auto options = std::make_shared<Options>();
  Command metrics =
      run.command("metrics", "Show the metrics of a run", "slipway run metrics latest --name loss");
  metrics.positional("RUN", options->run, "the run", Completes::kRun);
  metrics.option("--name", options->name, "NAME", "everything that was logged under this name");
  metrics.action([options, &context]() -> Result<int> {
    SLIPWAY_ASSIGN(Session session, Session::open(context));
    SLIPWAY_ASSIGN(const json::object found, session.find_run(options->run));
    const std::string path = session.run_path(found);
    if (!options->name.empty()) return print_points(context, session, path, options->name);
    return print_summary(context, session, path);
  });
}

}  // namespace slipway::cli
