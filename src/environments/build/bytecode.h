// Compiled Python, made once for each wheel and interpreter version and then linked into every environment
// that has that wheel: compiling is most of the work of an installation, and a job must not do it each time
// it imports something.
//
//  1. The store is addressed by content: the digests of a distribution's sources, as its RECORD has them, and
//  the
//     interpreter's version.
//  2. What is linked is only used by an interpreter when it fits the source's time and size; where it would
//  not
//     (the same wheel was unpacked again), it is compiled anew.
//  3. A distribution appears in the store whole or not at all.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "environments/build/workshop.h"

namespace slipway::environments {

// Gives every distribution in `site_packages` its bytecode. What cannot be compiled is left to the
// interpreter, as it would be anyway.
Status add_bytecode(const std::filesystem::path& python, const std::filesystem::path& site_packages,
                    const Workshop& workshop);

}  // namespace slipway::environments
