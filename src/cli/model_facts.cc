#include <fmt/format.h>

#include "cli/local_files.h"
#include "cli/models.h"
#include "cli/quantities.h"
#include "protocol/model.h"

namespace slipway::cli {
namespace {

constexpr std::string_view kDatasetPrefix = "dataset:";

// A dataset's name as it is; a file's bytes go to the server, which keeps them for the model.
Result<json::object> send_sample(Context& context, Session& session, const std::string& sample) {
  if (sample.starts_with(kDatasetPrefix))
    return json::object{{"dataset", sample.substr(kDatasetPrefix.size())}};
  SLIPWAY_ASSIGN(const LocalFiles local, read_local_files(context, sample, PathsBegin::kInside));
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(sample, unknown))
    return fail(ErrorCode::kInvalidArgument, fmt::format("the sample '{}' is a folder", printable(sample)),
                "a sample is one file, such as a JSON body, or dataset:NAME[:VERSION]");
  const auto publish = [](client::Requests&) -> Result<bool> { return true; };  // the model names it later
  SLIPWAY_TRY(send_local_files(context, session, local, publish));
  const snapshot::Entry& file = local.files.entries().front();
  return json::object{{"name", file.path}, {"digest", file.digest.hex()}};
}

}  // namespace

void add_model_facts(Command command, ModelFacts& facts) {
  command.choice("--framework,-f", facts.framework,
                 {"tensorflow", "keras", "onnx", "pytorch", "scikit-learn", "custom"},
                 "what it was made with, which decides how it is served");
  command.option("--framework-version", facts.framework_version, "VERSION", "of the framework");
  command.option("--env", facts.environment, "NAME",
                 "where it is tried and served (that of its run, or the curated one of its framework)",
                 Completes::kEnvironment);
  command.option("--description", facts.description, "TEXT", "what it is");
  command.option("--cpu", facts.cpus, "N", "CPUs that serving it needs");
  command.option("--memory", facts.memory, "SIZE", "memory that serving it needs: 0.5, 2G, 512MiB");
  command.option("--gpu", facts.gpus, "N", "GPUs that serving it needs");
  command.option("--tag,-t", facts.tags, "NAME=VALUE", "a tag; may be repeated");
  command.option("--property", facts.properties, "NAME=VALUE",
                 "a property, which is set once; may be repeated");
  command.option("--sample-input", facts.sample_input, "FILE",
                 "an example of what it takes: a file, or dataset:NAME[:VERSION]", Completes::kFile);
  command.option("--sample-output", facts.sample_output, "FILE", "the same of what it gives",
                 Completes::kFile);
}

Result<json::object> facts_body(Context& context, Session& session, const ModelFacts& facts) {
  json::object body;
  if (!facts.framework.empty()) body["framework"] = facts.framework;
  if (facts.framework_version) body["framework_version"] = *facts.framework_version;
  if (facts.environment) body["environment"] = *facts.environment;
  if (facts.description) body["description"] = *facts.description;
  json::object resources;
  if (facts.cpus) resources["cpus"] = json_number(*facts.cpus);
  if (facts.memory) resources["memory_bytes"] = facts.memory->bytes;
  if (facts.gpus) resources["gpus"] = *facts.gpus;
  if (!resources.empty()) body["resources"] = std::move(resources);
  if (!facts.tags.empty()) body["tags"] = to_json(facts.tags);
  if (!facts.properties.empty()) body["properties"] = to_json(facts.properties);
  for (const auto& [field, sample] :
       {std::pair{"sample_input", &facts.sample_input}, std::pair{"sample_output", &facts.sample_output}}) {
    if (sample->empty()) continue;
    SLIPWAY_ASSIGN(body[field], send_sample(context, session, *sample));
  }
  return body;
}

}  // namespace slipway::cli
