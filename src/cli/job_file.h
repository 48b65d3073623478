// A job as a person describes it in a file.
//
//   command: python train.py --epochs 3      # or a list: [python, train.py]
//   experiment: digits
//   compute: gpu
//   resources: {cpus: 4, memory: 8GiB, gpus: 1}
//   timeout: 2h
//   inputs: {mnist: "mount:mnist:2"}             # or {dataset: mnist:2, mode: mount}
//   models: [digits:3]
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "cli/job_fields.h"

namespace slipway::cli {

constexpr size_t kMaxJobFile = 1 << 20;

// Reads YAML. Errors begin with the place: "job.yaml:3:5: ..."; an unknown key comes with the nearest known
// one.
Result<JobFields> parse_job_file(std::string_view text, std::string_view file_name);
Result<JobFields> read_job_file(const std::filesystem::path& file);

}  // namespace slipway::cli
