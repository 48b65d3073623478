#include "environments/resolution.h"

#include <fmt/format.h>

#include "environments/environment.h"
#include "environments/key.h"
#include "environments/line_text.h"
#include "environments/substitution_store.h"
#include "environments/substitutions.h"

namespace slipway::environments {
namespace {

Result<Resolved> stand_in(const EnvironmentReference& reference) {
  const CuratedEnvironment* nearest = nearest_curated(reference.name);
  if (nearest == nullptr)
    return fail(ErrorCode::kNotFound,
                fmt::format("nothing that is shipped comes near '{}'", shown(reference.name)),
                "describe the environment yourself: slipway env create NAME --conda env.yml");
  Resolved resolved;
  resolved.environment = from_curated(*nearest);
  resolved.curated = true;
  resolved.note =
      fmt::format("environment '{}' is Azure's; the nearest that is shipped here is used instead: {} ({})",
                  shown(reference.name), resolved.environment.reference(), nearest->description);
  return resolved;
}

Result<Resolved> find(store::Reader& reader, const WorkspaceName& workspace,
                      const EnvironmentReference& reference, Deleted deleted) {
  if (is_reserved_name(reference.name)) return stand_in(reference);
  Resolved resolved;
  resolved.curated = reference.name.starts_with(kCuratedPrefix);
  if (resolved.curated) {
    SLIPWAY_ASSIGN(const CuratedEnvironment curated, find_curated(reference));
    resolved.environment = from_curated(curated);
  } else {
    SLIPWAY_ASSIGN(resolved.environment, load_environment(reader, workspace, reference, deleted));
  }
  return resolved;
}

}  // namespace

Environment from_curated(const CuratedEnvironment& curated) {
  return {.name = curated.name,
          .version = curated.version,
          .definition = curated.definition,
          .description = curated.description,
          .tags = {},
          .created_at = {},
          .created_by = "slipway"};
}

std::string Resolved::reference() const {
  return environment.version == 0 ? environment.name : environment.reference();
}

Result<Resolved> resolve_environment(store::Reader& reader, const WorkspaceName& workspace,
                                     const std::string& text, Deleted deleted) {
  SLIPWAY_ASSIGN(const EnvironmentReference reference, parse_environment_reference(text));
  if (reference.name == kSystem) {
    Resolved system;
    system.environment.name = kSystem;
    system.environment.definition.user_managed = true;
    return system;
  }
  SLIPWAY_ASSIGN(Resolved resolved, find(reader, workspace, reference, deleted));
  SLIPWAY_ASSIGN(resolved.substitutions, list_substitutions(reader, workspace));
  resolved.key = environment_key(
      apply_substitutions(resolved.environment.definition, resolved.substitutions).definition);
  return resolved;
}

EnvironmentOrder order_for(const Resolved& resolved, std::string lock) {
  return {.name = resolved.environment.name,
          .version = resolved.environment.version,
          .key = resolved.key,
          .definition = resolved.environment.definition,
          .substitutions = resolved.substitutions,
          .note = resolved.note,
          .lock = std::move(lock)};
}

json::object to_json(const Resolved& resolved) {
  const Environment& environment = resolved.environment;
  const Substituted substituted = apply_substitutions(environment.definition, resolved.substitutions);
  const bool has_time = environment.created_at.micros != 0;
  return {{"name", environment.name},
          {"version", environment.version},
          {"reference", resolved.reference()},
          {"description", environment.description},
          {"tags", slipway::to_json(environment.tags)},
          {"definition", slipway::to_json(environment.definition)},
          {"key", resolved.key},
          {"created_at", has_time ? json::value(to_iso8601(environment.created_at)) : json::value(nullptr)},
          {"created_by", environment.created_by},
          {"curated", resolved.curated},
          {"note", resolved.note},
          {"applied", slipway::to_json(substituted.applied)}};
}

}  // namespace slipway::environments
