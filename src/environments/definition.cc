#include "environments/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "environments/conda_spec.h"
#include "environments/line_text.h"
#include "environments/python_request.h"
#include "environments/requirement.h"

namespace slipway::environments {
namespace {

auto refuse(std::string message, std::string next = "") {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(next));
}

bool is_made_of(std::string_view text, std::string_view more) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_letter_or_digit(c) || more.find(c) != std::string_view::npos;
  });
}

Status check_pip(std::vector<std::string>& lines) {
  for (std::string& line : lines) {
    if (is_resolver_option(line)) {
      SLIPWAY_ASSIGN(line, parse_resolver_option(line));
      continue;
    }
    SLIPWAY_ASSIGN(const Requirement requirement, parse_requirement(line));
    line = to_text(requirement);
  }
  return {};
}

Status check_conda(EnvironmentDefinition& definition) {
  for (std::string& line : definition.conda) {
    SLIPWAY_ASSIGN(const CondaSpec spec, parse_conda_spec(line));
    if (spec.name == "python" || spec.name == "pip")
      return refuse(fmt::format("'{}' is no conda package of a definition", line),
                    "Python has a field of its own, and pip comes by itself");
    line = to_text(spec);
  }
  for (const std::string& channel : definition.conda_channels) {
    const bool has_password = channel.find('@') != std::string::npos;
    if (has_password || !is_made_of(channel, "-_./:"))
      return refuse(fmt::format("'{}' is no conda channel", has_password ? "..." : shown(channel)),
                    "a name such as conda-forge, or an address without a password");
  }
  return {};
}

Status check_variables(const EnvironmentDefinition& definition) {
  for (const auto& [name, value] : definition.variables)
    if (!is_made_of(name, "_") || (name.front() >= '0' && name.front() <= '9') ||
        value.find('\0') != std::string::npos)
      return refuse(fmt::format("'{}' cannot be an environment variable", shown(name, 40)),
                    "its name has letters, digits and '_'");
  return {};
}

// Only what changes how a job sees its container; nothing that reaches out of it.
Status check_arguments(const std::vector<std::string>& arguments) {
  constexpr std::array kAllowed{"--cap-drop=",   "--env=",      "--hostname=", "--ipc=",    "--label=",
                                "--pids-limit=", "--shm-size=", "--tmpfs=",    "--ulimit=", "--user="};
  for (const std::string& argument : arguments)
    if (std::ranges::none_of(kAllowed, [&](const char* start) { return argument.starts_with(start); }))
      return refuse(
          fmt::format("'{}' is no option that an environment's container may have", shown(argument)),
          fmt::format("write --name=value with one of {}", fmt::join(kAllowed, " ")));
  return {};
}

Status check_container(const ContainerSettings& container) {
  if (container.enabled && container.image.empty() && container.dockerfile.empty())
    return refuse("the environment asks for a container and names no image", "give an image or a Dockerfile");
  if (!container.image.empty() && (!is_made_of(container.image, "-_./:@") || container.image.front() == '-'))
    return refuse(fmt::format("'{}' is no name of an image", shown(container.image)),
                  "for example: docker.io/library/debian:12");
  if (!container.dockerfile.empty()) SLIPWAY_TRY(check_dockerfile(container.dockerfile, "Dockerfile"));
  const std::string& size = container.shm_size;
  const bool good_size =
      size.empty() || (size.front() >= '1' && size.front() <= '9' && is_made_of(size, "") &&
                       size.find_first_not_of("0123456789") + 1 >= size.size());
  if (!good_size)
    return refuse(fmt::format("'{}' is no size of shared memory", shown(size)), "for example: 2g");
  return check_arguments(container.arguments);
}

Status check_interpreter(const EnvironmentDefinition& definition) {
  if (is_made_of(definition.interpreter, "-_./+")) return {};
  return refuse(fmt::format("'{}' is no interpreter", shown(definition.interpreter)),
                "a name on the PATH such as python3, or an absolute path");
}

}  // namespace

Result<EnvironmentDefinition> checked_definition(EnvironmentDefinition definition) {
  SLIPWAY_ASSIGN(const PythonRequest python, PythonRequest::parse(definition.python));
  definition.python = python.text();
  SLIPWAY_TRY(check_pip(definition.pip));
  SLIPWAY_TRY(check_conda(definition));
  SLIPWAY_TRY(check_variables(definition));
  SLIPWAY_TRY(check_interpreter(definition));
  SLIPWAY_TRY(check_container(definition.container));
  return definition;
}

Status check_dockerfile(std::string_view text, std::string_view file_name) {
  bool has_from = false;
  bool continued = false;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    const bool begins = !continued && !line.empty() && !line.starts_with('#');
    if (!line.starts_with('#')) continued = line.ends_with('\\');
    if (!begins) continue;
    const std::string word = lowered(line.substr(0, line.find_first_of(" \t")));
    if (word == "from") {
      has_from = true;
    } else if (!has_from && word != "arg") {
      return refuse(fmt::format("{}:{}: a Dockerfile begins with FROM", file_name, number),
                    "for example: FROM docker.io/library/debian:12");
    }
    const bool copies = word == "copy" || word == "add";
    if (copies && line.find("--from=") == std::string_view::npos &&
        line.find("://") == std::string_view::npos && line.find("<<") == std::string_view::npos)
      return refuse(
          fmt::format("{}:{}: {} takes local files, and an environment has none beside its Dockerfile",
                      file_name, number, line.substr(0, word.size())),
          "fetch them with RUN or ADD https://..., or leave them to the run: its source folder is mounted");
  }
  if (!has_from)
    return refuse(fmt::format("{}: there is no FROM in it", file_name),
                  "for example: FROM docker.io/library/debian:12");
  return {};
}

}  // namespace slipway::environments
