// A manifest's canonical text, read and written without a document in between: a dataset of a million files
// costs the memory of its files, and no more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/manifest.h"

namespace slipway::data {

struct ManifestParts {
  std::vector<Source> sources;
  std::vector<File> files;
  uint64_t file_count = 0;  // as the header says
  uint64_t bytes = 0;
};

// The form is checked here, the meaning by Manifest::make.
Result<ManifestParts> read_manifest_text(std::string_view text);
std::string write_manifest_text(const std::vector<Source>& sources, const std::vector<File>& files,
                                uint64_t bytes);

}  // namespace slipway::data
