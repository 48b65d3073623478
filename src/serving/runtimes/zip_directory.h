// The directory of a zip archive, as far as it is needed to see what is inside. Everything is checked against
// the end of the bytes; nothing is copied or unpacked.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace slipway::serving {

struct ZipEntry {
  std::string_view name;
  uint64_t offset = 0;  // of its header in the archive
  uint64_t size = 0;    // packed
  bool stored = false;  // as it is, not compressed
};

// Calls `visit` for each entry until it returns false. kInvalidArgument where the bytes are no archive.
Status visit_zip(std::string_view archive, const std::function<bool(const ZipEntry&)>& visit);

// The content of a stored entry; empty where it is compressed or not all there.
std::string_view stored_content(std::string_view archive, const ZipEntry& entry);

}  // namespace slipway::serving
