// Requirements files: whatever comes in, what is accepted is one line each and is read back as the same.
#include "environments/requirements.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "environments/requirement.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway::environments;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto include = [&](const std::string&) -> slipway::Result<std::string> {
    return std::string(text.substr(text.size() / 2));
  };
  const auto lines = read_requirements(text, "requirements.txt", include);
  if (!lines) return 0;
  for (const std::string& line : *lines) {
    if (line.empty() || line.find('\n') != std::string::npos) std::abort();
    if (is_resolver_option(line)) {
      if (parse_resolver_option(line) != line) std::abort();
      continue;
    }
    const auto requirement = parse_requirement(line);
    if (!requirement || to_text(*requirement) != line) std::abort();
  }
  return 0;
}
