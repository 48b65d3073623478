#include "runs/job_models.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway::runs {
namespace {

constexpr std::string_view kOpening = "${models.";

// A command may name the models of its job only.
Status check_argument(std::string_view argument, const std::vector<ModelReference>& models) {
  for (size_t at = argument.find(kOpening); at != std::string_view::npos;
       at = argument.find(kOpening, at + 1)) {
    const size_t end = argument.find('}', at);
    if (end == std::string_view::npos)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the command has '{}' without a '}}' behind it", kOpening));
    const std::string_view name = argument.substr(at + kOpening.size(), end - at - kOpening.size());
    if (std::ranges::find(models, name, &ModelReference::name) != models.end()) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the command names the model '{}', which the job has not", name.substr(0, 64)),
                fmt::format("give it to the job: --model {}", name.substr(0, 64)));
  }
  return {};
}

}  // namespace

Result<ModelOrder> find_model(store::Reader& reader, const WorkspaceName& workspace,
                              const ModelReference& reference) {
  ModelOrder order;
  std::string framework;
  bool found = false;
  SLIPWAY_TRY(
      reader.query(fmt::format("SELECT name, version, manifest, framework, files, bytes FROM model_versions "
                               "WHERE workspace = ? AND name = ? AND {} ORDER BY version DESC LIMIT 1",
                               reference.version == 0 ? "version >= ?" : "version = ?"),
                   {workspace, reference.name, reference.version}, [&](const store::Row& row) {
                     found = true;
                     order.name = row.text(0);
                     order.version = static_cast<int>(row.integer(1));
                     order.manifest = row.text(2);
                     framework = row.text(3);
                     order.files = static_cast<uint64_t>(row.integer(4));
                     order.bytes = static_cast<uint64_t>(row.integer(5));
                   }));
  if (!found)
    return fail(ErrorCode::kNotFound, fmt::format("there is no model '{}'", to_text(reference)),
                reference.version == 0
                    ? "slipway model list shows what there is"
                    : fmt::format("slipway model versions {} shows what there is", reference.name));
  SLIPWAY_ASSIGN(order.framework, model_framework_from_text(framework));
  return order;
}

Status pin_models(store::Reader& reader, const WorkspaceName& workspace, Job& job) {
  std::vector<ModelReference> pinned;
  for (const std::string& text : job.models) {
    SLIPWAY_ASSIGN(const ModelReference wanted, parse_model_reference(text));
    SLIPWAY_ASSIGN(const ModelOrder found, find_model(reader, workspace, wanted));
    ModelReference exact{.name = found.name, .version = found.version};
    if (std::ranges::find(pinned, exact) == pinned.end()) pinned.push_back(std::move(exact));
  }
  for (const std::string& argument : job.command) SLIPWAY_TRY(check_argument(argument, pinned));
  job.models.clear();
  for (const ModelReference& reference : pinned) job.models.push_back(to_text(reference));
  return {};
}

Status record_models(store::Writer& writer, const Run& run) {
  // Asked again, since a version may have been deleted since it was pinned.
  SLIPWAY_ASSIGN(const auto orders, model_orders(writer, run));
  for (const ModelOrder& order : orders)
    SLIPWAY_TRY(writer.run("INSERT INTO run_models (run, workspace, model, version) VALUES (?, ?, ?, ?)",
                           {run.id, run.workspace, order.name, order.version}));
  return {};
}

Result<std::vector<ModelOrder>> model_orders(store::Reader& reader, const Run& run) {
  std::vector<ModelOrder> orders;
  for (const std::string& text : run.job.models) {
    SLIPWAY_ASSIGN(const ModelReference reference, parse_model_reference(text));
    SLIPWAY_ASSIGN(ModelOrder order, find_model(reader, run.workspace, reference));
    orders.push_back(std::move(order));
  }
  return orders;
}

Result<bool> is_given(store::Reader& reader, const Run& run, const std::string& manifest) {
  bool given = false;
  SLIPWAY_TRY(reader.query(
      "SELECT 1 FROM run_models u JOIN model_versions m ON m.workspace = u.workspace AND m.name = u.model "
      "AND m.version = u.version WHERE u.run = ? AND m.manifest = ? LIMIT 1",
      {run.id, manifest}, [&](const store::Row&) { given = true; }));
  return given;
}

}  // namespace slipway::runs
