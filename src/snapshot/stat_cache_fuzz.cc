// A damaged cache is an empty one; one that is read back encodes to the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/digest.h"
#include "snapshot/stat_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  snapshot::StatCache::parse(bytes);
  // Few inputs have a right checksum by chance: give the rest one, so that what lies behind it is reached
  // too.
  std::string whole = "SLWSTAT1" + bytes;
  const auto checksum = Digest::of(whole).bytes();
  whole.append(reinterpret_cast<const char*>(checksum.data()), checksum.size());
  const snapshot::StatCache cache = snapshot::StatCache::parse(whole);
  if (cache.size() > size / 72) std::abort();
  cache.find(bytes, {});
  return 0;
}
