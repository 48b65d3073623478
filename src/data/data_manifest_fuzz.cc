// A manifest that is taken has clean paths, and its text is the one that was read.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/file.h"
#include "base/log.h"
#include "data/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace slipway;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto manifest = data::Manifest::parse(text);
  if (!manifest) return 0;
  for (const data::File& file : manifest->files())
    if (!is_clean_relative_path(file.path)) abort_because("a path that is not clean was taken");
  if (manifest->text() != text || manifest->id() != Digest::of(text))
    abort_because("the text is not canonical");
  if (!diff(*manifest, *manifest).empty()) abort_because("a manifest differs from itself");
  return 0;
}
