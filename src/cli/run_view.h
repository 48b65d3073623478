// How runs look to a person.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "cli/table.h"

namespace slipway::cli {

const std::vector<std::string>& run_states();

// RUN, STATE, SUBMITTED, DURATION, COMPUTE, and the name or the command.
Table runs_table(const json::array& runs, Timestamp now);

// Everything that is known of one run.
struct RunPage {
  json::object run;
  json::array events;
  json::array metrics;
  json::array children;  // the newest
  std::string url;       // of the server
};
std::string run_page_text(const RunPage& page, Timestamp now, int width, bool colour);

// What changed between two runs, section by section; the answer of /run-diff.
std::string diff_text(const json::object& diff, bool colour);

}  // namespace slipway::cli
