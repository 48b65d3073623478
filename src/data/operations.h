// The operations of a dataset's definition on the files that were found. Pure, and the same on every machine:
// what is random depends on the seed and on each file's path alone.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/definition.h"

namespace slipway::data {

// What operations look at.
struct Candidate {
  std::string_view path;  // in the dataset's layout
  uint64_t size = 0;
  uint32_t index = 0;  // the caller's own
};

// A number that is as good as random, from 64-bit FNV-1a over the path, mixed with the seed by splitmix64.
uint64_t shuffle_key(std::string_view path, uint64_t seed);

// `files` in the order of their paths; what stays is in that order too. Sample and split choose the files
// with the least keys, so that a fraction of 0.8 of 10 files is 8 of them; the two parts of a split with the
// same seed and fraction have no file in common and miss none.
std::vector<Candidate> apply(const std::vector<Operation>& operations, std::vector<Candidate> files);

}  // namespace slipway::data
