// An event stream gives the same events however its bytes are cut.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "http/client.h"
#include "http/events.h"

using namespace slipway::http;

namespace {

std::string read(std::string_view bytes, size_t step) {
  EventParser parser;
  std::string all;
  while (!bytes.empty()) {
    const auto add = [&](Event event) {
      event.id.clear();  // in force until the next one: not a property of the event alone
      append_event(all, event);
    };
    if (!parser.feed(bytes.substr(0, step), add)) break;
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string whole = read(text, SIZE_MAX);
  if (whole != read(text, 1) || whole != read(text, 3)) std::abort();
  if (read(whole, SIZE_MAX) != whole) std::abort();
  return 0;
}
