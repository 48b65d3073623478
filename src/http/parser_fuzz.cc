// Whatever comes over a connection, cut anywhere: messages are parsed or refused, and their bodies stay
// within what was asked for.
#include <cstdint>
#include <cstdlib>

#include "http/parser.h"

using namespace slipway::http;

namespace {

void parse(MessageParser::Kind kind, std::string_view bytes, size_t step) {
  constexpr size_t kLimit = 64;
  MessageParser parser(kind, 512);
  std::string body;
  std::string held;
  parser.collect(&body, kLimit);
  while (!bytes.empty() && !parser.done()) {
    held += bytes.substr(0, step);
    bytes.remove_prefix(std::min(step, bytes.size()));
    while (!held.empty() && !parser.done()) {
      if (body.size() == kLimit) body.clear();
      const auto consumed = parser.put(held);
      if (!consumed) return;
      if (*consumed > held.size() || body.size() > kLimit) std::abort();
      if (*consumed == 0) break;
      held.erase(0, *consumed);
    }
  }
  if (parser.put_end() && !parser.head_done()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto kind :
       {MessageParser::Kind::kRequest, MessageParser::Kind::kResponse, MessageParser::Kind::kHeadResponse}) {
    parse(kind, text, SIZE_MAX);
    parse(kind, text, 1);
  }
  return 0;
}
