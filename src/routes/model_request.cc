#include "routes/model_request.h"

#include <fmt/format.h>

#include "routes/request.h"
#include "routes/run_fields.h"

namespace slipway::routes {
namespace {

constexpr size_t kLongestPath = 4096;
constexpr size_t kMostDatasets = 256;

std::unexpected<Error> refuse(std::string message, std::string next = "") {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(next));
}

}  // namespace

Result<ModelReference> model_reference_of(const http::Request& request) {
  return parse_model_reference(request.param("model"));
}

Result<models::ModelFilter> model_filter_of(const http::Request& request) {
  models::ModelFilter filter;
  SLIPWAY_ASSIGN(filter.limit, limit_of(request));
  SLIPWAY_ASSIGN(const auto cursor, cursor_of(request));
  if (cursor) filter.before_seq = *cursor;
  filter.name = request.query_value("name");
  if (const auto text = request.query_value("framework")) {
    SLIPWAY_ASSIGN(filter.framework, model_framework_from_text(*text));
  }
  filter.dataset = request.query_value("dataset");
  if (const auto text = request.query_value("latest")) {
    if (*text != "true" && *text != "false") return refuse("'latest' is true or false");
    filter.latest = *text == "true";
  }
  SLIPWAY_ASSIGN(PairFilter pairs, pair_filter_of(request));
  filter.tags = std::move(pairs.tags);
  filter.properties = std::move(pairs.properties);
  return filter;
}

Result<models::NewModel> new_model_of(const json::object& body, bool takes_run, std::string& run) {
  models::NewModel made;
  std::string framework(to_text(made.framework));
  json::object tags, properties, resources, sample_input, sample_output;
  JsonFields fields(body, "the model");
  fields.required("name", made.name);
  if (takes_run) fields.optional("run", run);
  fields.optional("path", made.path);
  fields.optional("snapshot", made.snapshot);
  fields.optional("framework", framework);
  fields.optional("framework_version", made.framework_version);
  fields.optional("environment", made.environment);
  fields.optional("description", made.description);
  fields.optional("tags", tags);
  fields.optional("properties", properties);
  fields.optional("resources", resources);
  fields.optional("sample_input", sample_input);
  fields.optional("sample_output", sample_output);
  fields.optional("datasets", made.datasets);
  fields.optional("trial", made.trial);
  SLIPWAY_TRY(fields.finish());
  if (made.path.empty() == made.snapshot.empty())
    return refuse("a model comes from a path of a run's files, or from a snapshot",
                  "give one of the fields 'path' (with 'run') and 'snapshot'");
  if (made.path.size() > kLongestPath) return refuse("the path of the model is too long");
  if (made.datasets.size() > kMostDatasets)
    return refuse(fmt::format("a model comes from at most {} datasets", kMostDatasets));
  SLIPWAY_ASSIGN(made.framework, model_framework_from_text(framework));
  SLIPWAY_TRY(check_description(made.description));
  SLIPWAY_ASSIGN(made.tags, pairs_of(tags, "tag"));
  SLIPWAY_ASSIGN(made.properties, pairs_of(properties, "property"));
  SLIPWAY_ASSIGN(made.resources, resources_from_json(resources));
  SLIPWAY_ASSIGN(made.sample_input, models::sample_from_json(sample_input, "the sample input"));
  SLIPWAY_ASSIGN(made.sample_output, models::sample_from_json(sample_output, "the sample output"));
  return made;
}

Result<models::ModelChange> model_change_of(const json::object& body) {
  models::ModelChange change;
  std::optional<std::string> framework;
  std::optional<json::object> resources, sample_input, sample_output;
  json::object tags, properties;
  JsonFields fields(body, "the change");
  fields.optional("description", change.description);
  fields.optional("framework", framework);
  fields.optional("framework_version", change.framework_version);
  fields.optional("environment", change.environment);
  fields.optional("resources", resources);
  fields.optional("sample_input", sample_input);
  fields.optional("sample_output", sample_output);
  fields.optional("tags", tags);
  fields.optional("properties", properties);
  SLIPWAY_TRY(fields.finish());
  if (change.description) SLIPWAY_TRY(check_description(*change.description));
  if (framework) {
    SLIPWAY_ASSIGN(change.framework, model_framework_from_text(*framework));
  }
  if (resources) {
    SLIPWAY_ASSIGN(change.resources, resources_from_json(*resources));
  }
  if (sample_input) {
    SLIPWAY_ASSIGN(change.sample_input, models::sample_from_json(*sample_input, "the sample input"));
  }
  if (sample_output) {
    SLIPWAY_ASSIGN(change.sample_output, models::sample_from_json(*sample_output, "the sample output"));
  }
  SLIPWAY_ASSIGN(TagChange tag_changes, tag_change(tags));
  change.tags = std::move(tag_changes.set);
  change.remove_tags = std::move(tag_changes.remove);
  SLIPWAY_ASSIGN(change.properties, pairs_of(properties, "property"));
  return change;
}

}  // namespace slipway::routes
