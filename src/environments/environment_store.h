// Environments and their versions in the store. A version never changes; deleting one hides it from new runs,
// while those that name it still find it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "protocol/environment.h"
#include "store/database.h"

namespace slipway::environments {

// Environments that were given with a run instead of a name have versions of this one.
constexpr std::string_view kAnonymous = "anonymous";

struct Environment {
  std::string name;
  int version = 0;
  EnvironmentDefinition definition;
  std::string description;
  std::map<std::string, std::string> tags;
  Timestamp created_at;
  std::string created_by;
  std::string reference() const { return name + ":" + std::to_string(version); }
};

struct Registered {
  Environment environment;
  bool made = false;  // false: a version with this definition was there
};

// kInvalidArgument for a name that cannot be one; for a reserved one the message says to clone first.
Status check_new_name(std::string_view name);

// Gives it the next version, or answers the newest one that has the same definition. An empty name makes it
// anonymous. `definition` has been checked (definition.h); version and time of `environment` are ignored.
Result<Registered> register_environment(store::Writer& writer, const WorkspaceName& workspace,
                                        Environment environment, Timestamp now);

enum class Deleted { kHidden, kFound };
// kNotFound, with where to look. Version 0 is the newest.
Result<Environment> load_environment(store::Reader& reader, const WorkspaceName& workspace,
                                     const EnvironmentReference& reference,
                                     Deleted deleted = Deleted::kHidden);
// The newest version of each name behind `after`, by name; anonymous ones are left out.
Result<std::vector<Environment>> list_environments(store::Reader& reader, const WorkspaceName& workspace,
                                                   const std::string& after, int64_t limit);
// Newest first, those below `before`. kNotFound when there is none at all.
Result<std::vector<Environment>> list_versions(store::Reader& reader, const WorkspaceName& workspace,
                                               const std::string& name, int64_t before, int64_t limit);
// One version, or with version 0 all of them. kNotFound.
Status delete_environment(store::Writer& writer, const WorkspaceName& workspace,
                          const EnvironmentReference& reference, Timestamp now);

// All that belongs to a workspace that goes: environments, locks and rules.
Status delete_environments_of(store::Writer& writer, const WorkspaceName& workspace);

}  // namespace slipway::environments
