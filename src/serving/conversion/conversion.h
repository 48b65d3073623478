// Models that no runtime loads as they are, turned into ones that a runtime does: by a Python step in the
// model's own environment, once.
//
// Invariants
//   1. A result has its name only when it is whole: it is made aside, synced, and renamed.
//   2. Its name is a digest over all that decides it: the model's bytes, what is done to them, the converter,
//      and the versions of the packages that take part. So a second start finds it.
//   3. The converter is a process of its own with bounds on time and memory; it dies with the thread that
//      waits for it, and what it leaves is removed by the next one.
//   4. Of several servers that want the same result one makes it, under a lock, and the others wait.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "serving/confinement.h"

namespace slipway::serving {

struct Conversion {
  std::string kind;              // as convert.py knows them: "keras"
  std::filesystem::path source;  // the model's file or folder
  std::string signature;         // of a SavedModel, for kinds that take one
};

struct ConversionPlace {
  std::string python;            // the interpreter; empty: python3
  std::filesystem::path folder;  // of all results
  uint64_t memory_bytes = 0;     // of the process; 0: no limit
  // What it may touch beside its result; nullopt: whatever this process may.
  std::optional<Places> places = std::nullopt;
  std::chrono::milliseconds time = std::chrono::minutes(10);
};

// The folder of the result. kUnavailable names a package that is missing; kInvalidArgument says why the model
// cannot be converted, kTimeout that it took too long. Results that were not used for long are removed.
Result<std::filesystem::path> convert(const Conversion& conversion, const ConversionPlace& place);

}  // namespace slipway::serving
