// Whatever text is taken for a job or an order must come back the same when written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "protocol/job.h"
#include "protocol/node.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto object = slipway::parse_json_object(text, "the input");
  if (!object) return 0;
  if (const auto job = slipway::job_from_json(*object)) {
    const auto again = slipway::job_from_json(slipway::to_json(*job));
    if (!again || *again != *job) std::abort();
  }
  if (const auto order = slipway::attempt_order_from_json(*object)) {
    const auto again = slipway::attempt_order_from_json(slipway::to_json(*order));
    if (!again || again->key != order->key || again->job != order->job) std::abort();
  }
  (void)slipway::exit_status_from_json(*object);
  (void)slipway::output_file_from_json(*object);
  (void)slipway::node_capacity_from_json(*object);
  return 0;
}
