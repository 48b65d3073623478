#include "environments/pyproject.h"

#include <fmt/format.h>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "environments/line_text.h"
#include "environments/python_request.h"
#include "environments/requirement.h"

namespace slipway::environments {
namespace {

constexpr size_t kMaxFile = 1 << 20;

auto wrong(const std::string& file, const toml::source_region& where, const std::string& message,
           std::string next = "") {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}:{}:{}: {}", shown(file), where.begin.line, where.begin.column, message),
              std::move(next));
}

}  // namespace

Result<EnvironmentDefinition> parse_pyproject(std::string_view text, const std::string& file_name) {
  if (text.size() > kMaxFile)
    return fail(ErrorCode::kTooLarge, fmt::format("{} is larger than 1 MiB", shown(file_name)));
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return wrong(file_name, parsed.error().source(),
                 fmt::format("this is not TOML: {}", shown(parsed.error().description())), "mend that line");
  const toml::table* project = parsed.table()["project"].as_table();
  if (project == nullptr)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: there is no [project] in it", shown(file_name)),
                "dependencies stand in [project]: dependencies = [\"numpy\"]");
  EnvironmentDefinition definition;
  if (const toml::node* python = project->get("requires-python")) {
    definition.python = python->value_or(std::string());
    const Result<PythonRequest> request = PythonRequest::parse(definition.python);
    if (!python->is_string() || !request)
      return wrong(file_name, python->source(), "'requires-python' is no version constraint",
                   "for example: >=3.9");
  }
  const toml::node* dependencies = project->get("dependencies");
  if (dependencies == nullptr) return definition;
  const toml::array* list = dependencies->as_array();
  if (list == nullptr) return wrong(file_name, dependencies->source(), "'dependencies' must be a list");
  for (const toml::node& item : *list) {
    const Result<Requirement> requirement = parse_requirement(item.value_or(std::string_view()));
    if (!item.is_string() || !requirement)
      return wrong(file_name, item.source(),
                   requirement ? "a dependency is a string" : requirement.error().message,
                   requirement ? "" : requirement.error().next);
    definition.pip.push_back(to_text(*requirement));
  }
  return definition;
}

}  // namespace slipway::environments
