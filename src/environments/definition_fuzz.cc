// Bodies of POST .../environments: what is accepted keeps the rules, has a key, and survives substitution and
// the way to Azure's form and back.
#include "environments/definition.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "environments/azure_form.h"
#include "environments/key.h"
#include "environments/packages.h"
#include "environments/pyproject.h"
#include "environments/substitutions.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway;
  using namespace slipway::environments;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)parse_pyproject(text, "pyproject.toml");
  (void)check_dockerfile(text, "Dockerfile");
  (void)packages_of_lock(text);
  (void)from_azure_files({{std::string(kAzureFile), std::string(text)}});
  const auto object = parse_json_object(text, "the environment");
  if (!object) return 0;
  const auto definition = environment_definition_from_json(*object);
  const auto checked = definition ? checked_definition(*definition) : definition;
  if (!checked) return 0;
  const auto twice = checked_definition(*checked);
  if (!twice || *twice != *checked) std::abort();
  const Substituted substituted = apply_substitutions(*checked, default_substitutions());
  if (environment_key(substituted.definition).size() != 64) std::abort();
  (void)packages_of(*checked);
  return 0;
}
