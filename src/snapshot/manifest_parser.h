// Reads a manifest's JSON as it comes, without building a document: what a peer sends costs no more memory
// than the entries it describes.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "snapshot/manifest.h"

namespace slipway::snapshot {

// The shape is checked here (fields, types, count), the meaning of the entries by Manifest::from_entries.
Result<std::vector<Entry>> parse_manifest_entries(std::string_view text);

}  // namespace slipway::snapshot
