// What a script needs, as a user describes it, and what a node is told to make of it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace slipway {

// How a job names an environment: NAME, NAME:VERSION or curated/NAME.
struct EnvironmentReference {
  std::string name;  // with "curated/" where it is one of those
  int version = 0;   // 0: the newest
  bool operator==(const EnvironmentReference&) const = default;
};
Result<EnvironmentReference> parse_environment_reference(std::string_view text);

struct ContainerSettings {
  bool enabled = false;    // run inside `image` or what `dockerfile` builds
  std::string image;       // excludes `dockerfile`
  std::string dockerfile;  // its text
  std::string shm_size = "2g";
  std::vector<std::string> arguments;  // more for `podman run`, from a list of those allowed
  std::string registry_address;
  std::string registry_username;  // its password is a secret of the workspace and never stands here
  bool operator==(const ContainerSettings&) const = default;
};

// The part of an environment that decides what is built. Its key (environments/key.h) covers all of it but
// the variables, and nothing else: never a name or a version.
struct EnvironmentDefinition {
  std::string python;              // "3.11", "3.6.2"; empty: whichever there is
  std::vector<std::string> pip;    // requirement lines, in the user's order
  std::vector<std::string> conda;  // match specifications without Python and pip
  std::vector<std::string> conda_channels;
  std::map<std::string, std::string> variables;
  bool user_managed = false;           // the machine's own interpreter, nothing is installed
  std::string interpreter = "python";  // of a user-managed environment: a name on the PATH, or a path
  ContainerSettings container;
  bool operator==(const EnvironmentDefinition&) const = default;
};

// {"python", "pip": [], "conda": [], "conda_channels": [], "variables": {}, "user_managed", "interpreter",
//  "container": {"enabled", "image", "dockerfile", "shm_size", "arguments": [], "registry": {"address",
//  "username"}}}
json::object to_json(const EnvironmentDefinition& definition);
// Checks each field by itself and that image and dockerfile are not both given.
Result<EnvironmentDefinition> environment_definition_from_json(const json::object& object);

// One rule of a workspace: what stands in for a package, an interpreter or an image.
struct Substitution {
  std::string kind;  // "package", "python" or "image"
  std::string from;  // package name, version prefix ("3.6") or image pattern with '*'
  std::string to;    // requirement line, version, or image; empty: leave it out (for an image: no container)
  bool operator==(const Substitution&) const = default;
};

json::object to_json(const Substitution& rule);
Result<Substitution> substitution_from_json(const json::object& object);

// What an attempt's order says about its environment. The server fills it when the attempt is claimed, so
// that a lock which was made meanwhile by another run is in it.
struct EnvironmentOrder {
  std::string name = "system";  // as recorded in the run: "tf", "curated/pytorch"
  int version = 0;              // 0: `system`
  std::string key;              // of the definition with the substitutions; empty: `system`
  EnvironmentDefinition definition;
  std::vector<Substitution> substitutions;
  std::string note;  // a sentence for the build log, such as which environment stands in for the named one
  std::string
      lock;  // what an earlier build resolved, in the form of its builder; empty: resolve and report it
};

json::object to_json(const EnvironmentOrder& order);
Result<EnvironmentOrder> environment_order_from_json(const json::object& object);

}  // namespace slipway
