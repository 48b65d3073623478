// A job's inputs and outputs as people write them in a line.
//
//   --input  NAME=[MODE:]DATASET[:VERSION][,path=DIR][,verify=no]
//   --output NAME[=[MODE:][DATASTORE:]PATH][,register=DATASET][,overwrite=yes]
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "protocol/data.h"

namespace slipway::cli {

// What stands behind "NAME=".
Result<JobInput> parse_input(std::string_view text);
Result<JobOutput> parse_output(std::string_view text);

// The whole flag.
Result<std::pair<std::string, JobInput>> parse_input_flag(std::string_view text);
Result<std::pair<std::string, JobOutput>> parse_output_flag(std::string_view text);

}  // namespace slipway::cli
