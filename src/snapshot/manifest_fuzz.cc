// A manifest that is taken has clean paths, and its canonical text is read back as the same snapshot.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/file.h"
#include "base/log.h"
#include "snapshot/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway;
  const auto manifest = snapshot::Manifest::parse({reinterpret_cast<const char*>(data), size});
  if (!manifest) return 0;
  for (const snapshot::Entry& entry : manifest->entries())
    if (!is_clean_relative_path(entry.path)) abort_because("a path that is not clean was taken");
  const std::string text = manifest->text();
  const auto again = snapshot::Manifest::parse(text);
  if (!again || again->id() != manifest->id() || again->text() != text)
    abort_because("the text is not canonical");
  if (!diff(*manifest, *again).empty()) abort_because("a snapshot differs from itself");
  return 0;
}
