// A file without a name, for bytes that have to be whole before they go on.
#pragma once

#include "base/fd.h"
#include "base/result.h"

namespace slipway::data {

// In the folder for temporary files; gone with its descriptor.
Result<UniqueFd> open_spool();

}  // namespace slipway::data
