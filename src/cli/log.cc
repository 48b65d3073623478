#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/context.h"
#include "injob/log_sender.h"

namespace slipway::cli {
namespace {

struct LogOptions {
  std::vector<std::string> metrics;
  int64_t step = 0;
  std::map<std::string, std::string> tags;
  std::vector<std::string> files;
  std::map<std::string, std::string> images;
  std::map<std::string, std::string> strings;
  std::vector<std::string> rows;
  std::map<std::string, std::string> properties;

  bool nothing() const {
    return metrics.empty() && tags.empty() && files.empty() && images.empty() && strings.empty() &&
           rows.empty() && properties.empty();
  }
};

Result<int> log_to_run(const LogOptions& options) {
  std::vector<std::pair<std::string, double>> metrics;
  for (const std::string& text : options.metrics) {
    SLIPWAY_ASSIGN(auto metric, injob::parse_metric_argument(text));
    metrics.push_back(std::move(metric));
  }
  std::vector<injob::RowArgument> rows;
  for (const std::string& text : options.rows) {
    SLIPWAY_ASSIGN(auto row, injob::parse_row_argument(text));
    rows.push_back(std::move(row));
  }
  if (options.nothing())
    return fail(ErrorCode::kInvalidArgument, "there is nothing to log",
                "for example: slipway log loss=0.12 --step 7");
  if (!metrics.empty()) SLIPWAY_TRY(injob::send_metrics(metrics, options.step));
  for (const auto& [name, text] : options.strings) SLIPWAY_TRY(injob::send_string(name, text, options.step));
  for (const auto& [name, cells] : rows) SLIPWAY_TRY(injob::send_row(name, cells, options.step));
  for (const auto& [name, value] : options.properties) SLIPWAY_TRY(injob::send_property(name, value));
  for (const auto& [name, value] : options.tags) SLIPWAY_TRY(injob::send_tag(name, value));
  for (const std::string& file : options.files) SLIPWAY_TRY(injob::send_file(file));
  for (const auto& [name, path] : options.images) SLIPWAY_TRY(injob::send_image(name, path, options.step));
  return 0;
}

}  // namespace

void add_log_command(Command root, Context&) {
  const auto options = std::make_shared<LogOptions>();
  Command log =
      root.command("log", "Inside a job: log metrics, texts, rows, tags, files and images to its run",
                   "slipway log loss=0.12 accuracy=0.9 --step 7");
  log.example("slipway log --tag best=yes --file outputs/model.bin --image curve=outputs/curve.png");
  log.example("slipway log --row epoch=loss:0.12,phase:train --string note=warm --property data=mnist:2");
  log.positionals("METRIC", options->metrics, "metrics as NAME=VALUE; a value may be nan, inf or -inf",
                  Completes::kNothing, false);
  log.option("--step", options->step, "N", "the step they belong to (0)");
  log.option("--string", options->strings, "NAME=TEXT", "a metric that is a text; may be repeated");
  log.option("--row", options->rows, "NAME=COLUMN:VALUE,...",
             "a row of a metric that is a table; may be repeated");
  log.option("--property", options->properties, "NAME=VALUE",
             "a property of the run, set once for good; may be repeated");
  log.option("--tag,-t", options->tags, "NAME=VALUE", "a tag of the run; may be repeated");
  log.option("--file", options->files, "PATH", "keep this file now; may be repeated", Completes::kFile);
  log.option("--image", options->images, "NAME=PATH", "log an image; may be repeated");
  log.action([options] { return log_to_run(*options); });
}

}  // namespace slipway::cli
