#include "environments/substitutions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "environments/conda_spec.h"
#include "environments/line_text.h"
#include "environments/python_request.h"
#include "environments/requirement.h"

namespace slipway::environments {
namespace {

using Rules = std::vector<Substitution>;

bool is_family(const Substitution& rule) {
  return rule.from.find('*') != std::string::npos;
}

const Substitution* package_rule(const Rules& rules, std::string_view name) {
  const std::string wanted = package_name(name);
  const auto found = std::ranges::find_if(rules, [&](const Substitution& rule) {
    if (rule.kind != "package") return false;
    return is_family(rule) ? matches_pattern(wanted, lowered(rule.from)) : wanted == package_name(rule.from);
  });
  return found == rules.end() ? nullptr : &*found;
}

std::string whose(const Substitution& rule) {
  return is_default(rule) ? "" : " by a rule of the workspace";
}

std::string package_sentence(const std::string& before, const std::string& after, const Substitution& rule) {
  if (after.empty()) return fmt::format("package {} is left out{}", before, whose(rule));
  if (is_default(rule))
    return fmt::format("package {} is met by {}, Slipway's own package of the same modules", before, after);
  return fmt::format("package {} is replaced by {}{}", before, after, whose(rule));
}

// The rule's requirement with what it leaves open taken from `before`.
std::string replacement(const Requirement& before, const Substitution& rule) {
  if (rule.to.empty()) return "";
  Result<Requirement> after = parse_requirement(rule.to);
  if (!after) return rule.to;
  if (after->extras.empty()) after->extras = before.extras;
  if (after->marker.empty()) after->marker = before.marker;
  if (!is_family(rule) && after->constraint.empty() && after->url.empty())
    after->constraint = before.constraint;
  return to_text(*after);
}

void add_once(std::vector<std::string>& lines, const std::string& line) {
  if (!line.empty() && std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
}

void substitute_packages(const Rules& rules, Substituted& result) {
  EnvironmentDefinition& definition = result.definition;
  std::vector<std::string> pip;
  for (const std::string& line : definition.pip) {
    const Result<Requirement> requirement = parse_requirement(line);
    const Substitution* rule =
        is_resolver_option(line) || !requirement ? nullptr : package_rule(rules, requirement->name);
    const std::string after = rule == nullptr ? line : replacement(*requirement, *rule);
    if (rule != nullptr && after != line) result.applied.push_back(package_sentence(line, after, *rule));
    if (rule == nullptr) {
      pip.push_back(line);
    } else {
      add_once(pip, after);
    }
  }
  std::vector<std::string> conda;
  for (const std::string& line : definition.conda) {
    const Result<CondaSpec> spec = parse_conda_spec(line);
    const Substitution* rule = spec ? package_rule(rules, spec->name) : nullptr;
    if (rule == nullptr) {
      conda.push_back(line);
      continue;
    }
    Requirement before;
    before.name = spec->name;
    before.constraint = pip_constraint(*spec).value_or("");
    const std::string after = replacement(before, *rule);
    result.applied.push_back(package_sentence(line, after, *rule));
    add_once(pip, after);
  }
  definition.pip = std::move(pip);
  definition.conda = std::move(conda);
}

void substitute_python(const Rules& rules, Substituted& result) {
  std::string& python = result.definition.python;
  for (const Substitution& rule : rules) {
    if (rule.kind != "python" || (python != rule.from && !python.starts_with(rule.from + "."))) continue;
    result.applied.push_back(fmt::format("python {} is replaced by {}{}", python,
                                         rule.to.empty() ? "whichever there is" : rule.to, whose(rule)));
    python = rule.to;
    return;
  }
}

void substitute_image(const Rules& rules, Substituted& result) {
  ContainerSettings& container = result.definition.container;
  const EnvironmentDefinition& definition = result.definition;
  if (!container.enabled || container.image.empty()) return;
  const bool says_what_it_needs =
      !definition.user_managed &&
      (!definition.pip.empty() || !definition.conda.empty() || !definition.python.empty());
  for (const Substitution& rule : rules) {
    if (rule.kind != "image" || !matches_pattern(container.image, rule.from)) continue;
    if (rule.to.empty() && !says_what_it_needs) return;
    result.applied.push_back(
        rule.to.empty()
            ? fmt::format("image {} is not used{}: the packages are installed on this machine, without "
                          "a container",
                          container.image, whose(rule))
            : fmt::format("image {} is replaced by {}{}", container.image, rule.to, whose(rule)));
    container.image = rule.to;
    container.enabled = !rule.to.empty();
    return;
  }
}

}  // namespace

const std::vector<Substitution>& default_substitutions() {
  static const std::vector<Substitution> rules{
      {.kind = "package", .from = "azureml-*", .to = std::string(kCompanionPackage)},
      {.kind = "image", .from = "mcr.microsoft.com/azureml/*", .to = ""},
  };
  return rules;
}

bool is_default(const Substitution& rule) {
  return std::ranges::find(default_substitutions(), rule) != default_substitutions().end();
}

Status check_substitution(const Substitution& rule) {
  const auto refuse = [&](const char* what, const char* next) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is {}", shown(rule.from), what), next);
  };
  const auto is_word = [](std::string_view text, std::string_view more) {
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
      return is_letter_or_digit(c) || more.find(c) != std::string_view::npos;
    });
  };
  if (rule.kind == "package") {
    if (!is_word(rule.from, "-_.*") || rule.from == "*")
      return refuse("no package name", "for example: tensorflow-gpu, or azureml-* for a family");
    if (!rule.to.empty()) SLIPWAY_TRY(parse_requirement(rule.to));
    return {};
  }
  if (rule.kind == "python") {
    if (!parse_python_version(rule.from))
      return refuse("no version of Python", "for example: --python 3.6 3.8");
    SLIPWAY_TRY(PythonRequest::parse(rule.to));
    return {};
  }
  if (!is_word(rule.from, "-_./:@*"))
    return refuse("no image pattern", "for example: mcr.microsoft.com/azureml/*");
  if (!rule.to.empty() && !is_word(rule.to, "-_./:@"))
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no image", shown(rule.to)),
                "for example: docker.io/library/debian:12");
  return {};
}

Substituted apply_substitutions(EnvironmentDefinition definition, const Rules& rules) {
  Substituted result;
  result.definition = std::move(definition);
  // The image first: whether it is needed depends on the packages as the user named them.
  substitute_image(rules, result);
  substitute_python(rules, result);
  substitute_packages(rules, result);
  return result;
}

}  // namespace slipway::environments
