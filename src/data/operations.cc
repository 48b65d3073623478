#include "data/operations.h"

#include <algorithm>
#include <cmath>

#include "snapshot/glob.h"

namespace slipway::data {
namespace {

// Samples and splits with the same seed are to be independent of each other.
constexpr uint64_t kSplitSalt = 0x73706c6974ULL;

uint64_t count_of(double fraction, size_t files) {
  return static_cast<uint64_t>(std::llround(fraction * static_cast<double>(files)));
}

// Keeps the `count` files with the least keys, or all but those.
void choose(std::vector<Candidate>& files, uint64_t count, uint64_t seed, bool rest) {
  std::vector<std::pair<uint64_t, size_t>> keys;
  keys.reserve(files.size());
  for (size_t i = 0; i < files.size(); ++i) keys.emplace_back(shuffle_key(files[i].path, seed), i);
  const size_t chosen = std::min<uint64_t>(count, keys.size());
  std::ranges::nth_element(keys, keys.begin() + static_cast<ptrdiff_t>(chosen));
  std::vector<bool> kept(files.size(), rest);
  for (size_t i = 0; i < chosen; ++i) kept[keys[i].second] = !rest;
  size_t at = 0;
  std::erase_if(files, [&](const Candidate&) { return !kept[at++]; });
}

void filter(std::vector<Candidate>& files, const Operation& operation) {
  const bool by_path = !operation.pattern.empty();
  // As in ignore files: a pattern without a slash is about the name, wherever the file lies.
  const bool by_name = !operation.pattern.contains('/');
  const snapshot::Glob glob(operation.pattern,
                            by_name ? snapshot::Slashes::kPlain : snapshot::Slashes::kSeparator);
  std::erase_if(files, [&](const Candidate& file) {
    if (file.size < operation.min_size || file.size > operation.max_size) return true;
    if (!by_path) return false;
    const size_t name = by_name ? file.path.rfind('/') + 1 : 0;
    return !glob.matches(file.path.substr(name));
  });
}

}  // namespace

uint64_t shuffle_key(std::string_view path, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  uint64_t mixed = hash + (seed + 1) * 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31);
}

std::vector<Candidate> apply(const std::vector<Operation>& operations, std::vector<Candidate> files) {
  for (const Operation& operation : operations) {
    const auto count = static_cast<ptrdiff_t>(std::min<uint64_t>(operation.count, files.size()));
    switch (operation.kind) {
      case OperationKind::kTake: files.resize(static_cast<size_t>(count)); break;
      case OperationKind::kSkip: files.erase(files.begin(), files.begin() + count); break;
      case OperationKind::kSample:
        choose(files, operation.count > 0 ? operation.count : count_of(operation.fraction, files.size()),
               operation.seed, false);
        break;
      case OperationKind::kSplit:
        choose(files, count_of(operation.fraction, files.size()), operation.seed ^ kSplitSalt,
               operation.rest);
        break;
      case OperationKind::kFilter: filter(files, operation); break;
    }
  }
  return files;
}

}  // namespace slipway::data
