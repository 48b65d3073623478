#include <fmt/format.h>

#include "base/file.h"
#include "cli/answer.h"
#include "cli/environments.h"
#include "cli/quantities.h"
#include "environments/definition.h"
#include "environments/definition_files.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestFile = 1 << 20;

}  // namespace

bool names_definition_file(const std::string& text) {
  if (text.starts_with('.') || text.starts_with('/') || text.starts_with('~')) return true;
  std::error_code error;
  return environments::kind_of_definition_file(text).has_value() && fs::is_regular_file(text, error);
}

Status add_file_to_definition(const fs::path& file, EnvironmentDefinition& definition) {
  const std::string name = file.filename().string();
  SLIPWAY_ASSIGN(const environments::DefinitionFile kind, environments::kind_of_definition_file(name));
  Result<std::string> text = read_file(file, kLargestFile);
  if (!text && text.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound, fmt::format("there is no file '{}'", printable(file.string())),
                "name requirements (*.txt), a conda file (*.yml), pyproject.toml or a Dockerfile");
  if (!text) return fail(std::move(text).error());
  SLIPWAY_TRY(environments::add_definition_file(
      kind, *text, name, environments::includes_below(file.parent_path()), definition));
  return {};
}

Result<std::string> register_anonymous(Session& session, const EnvironmentDefinition& definition) {
  SLIPWAY_ASSIGN(const EnvironmentDefinition checked, environments::checked_definition(definition));
  SLIPWAY_ASSIGN(const json::object environment,
                 session.create(session.in_workspace("/environments"), {{"definition", to_json(checked)}}));
  return text_at(environment, "reference");
}

}  // namespace slipway::cli
