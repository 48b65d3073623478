#include "cli/job_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway::cli;
  if (const auto fields = parse_job_file({reinterpret_cast<const char*>(data), size}, "job.yaml"))
    (void)to_job(*fields);
  return 0;
}
