// `slipway env`: its groups of commands, one file each, and what they share with `slipway submit`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "cli/context.h"
#include "cli/session.h"
#include "protocol/environment.h"

namespace slipway::cli {

void add_environment_lists(Command env, Context& context);    // list, show, versions, lock, diff
void add_environment_changes(Command env, Context& context);  // create, clone, save, load, delete
void add_environment_builds(Command env, Context& context);   // build, builds, prune
void add_substitution_commands(Command env, Context& context);

// "/api/v1/workspaces/w/environments/curated%2Fpytorch:1"
std::string environment_path(const Session& session, const std::string& reference);
void print_environment(Context& context, const json::object& environment);

// Whether an --env names a file instead of an environment: it begins with '.', '/' or '~', or is there and is
// called as such files are.
bool names_definition_file(const std::string& text);
// Reads requirements, a conda file, pyproject.toml or a Dockerfile; what it includes must lie in its folder.
Status add_file_to_definition(const std::filesystem::path& file, EnvironmentDefinition& definition);
// Registers it without a name; gives the reference for a job.
Result<std::string> register_anonymous(Session& session, const EnvironmentDefinition& definition);

}  // namespace slipway::cli
