// Any bytes: taken as a record only when encoding the same record gives the same bytes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "journal/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway::journal;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto parsed = parse_record(bytes);
  if (parsed && *parsed) {
    const Record& record = (*parsed)->record;
    const std::string again = encode_record(record.kind, record.sequence, record.time, record.payload);
    if (again != bytes.substr(0, (*parsed)->size)) std::abort();
  }
  // The checksum stops nearly every input above; here a right one is made, so that the way through is walked
  // too.
  const std::string made = encode_record(Kind::kLog, size, {static_cast<int64_t>(size)}, bytes);
  const auto read = parse_record(made);
  if (!read || !*read || (*read)->record.payload != bytes) std::abort();
  return 0;
}
