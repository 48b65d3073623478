// Conda files: whatever comes in, what is accepted can be written and is read back as the same.
#include "environments/conda_file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "environments/conda_names.h"
#include "environments/definition.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway::environments;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto file = parse_conda_file(text, "env.yml", nothing_to_include);
  if (!file) return 0;
  for (const std::string& spec : file->definition.conda) (void)conda_on_pypi(spec);
  file->definition.variables.clear();
  const auto checked = checked_definition(file->definition);
  if (!checked) return 0;
  const auto again = parse_conda_file(conda_file_text(*checked, "x"), "env.yml", nothing_to_include);
  if (!again || again->definition != *checked) std::abort();
  return 0;
}
