// Any datagram: what is taken can be written to the journal and read back.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/file.h"
#include "injob/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  injob::Message message;
  if (!injob::parse_message(text, {1}, message)) {
    if (!message.points.empty() || !message.tags.empty() || message.file) std::abort();
    return 0;
  }
  const auto points = journal::parse_metrics(journal::encode_metrics(message.points));
  if (!points || points->size() != message.points.size()) std::abort();
  if (message.file && !is_clean_relative_path(message.file->path)) std::abort();
  return 0;
}
