// An address that is taken is safe in a request line and lays its file out below the dataset's folder,
// wherever a redirect leads.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/file.h"
#include "base/log.h"
#include "data/url.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace slipway;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto check = [](const data::Url& url) {
    for (const char c : url.target)
      if (c <= 0x20 || c >= 0x7f) abort_because("a target that may not stand in a request");
    if (!url.target.starts_with('/')) abort_because("a target without a path");
    if (!is_clean_relative_path(data::layout_of(url))) abort_because("a layout that is not clean");
    const auto again = data::parse_url(url.server() + url.target);
    if (!again || *again != url) abort_because("the address is not read back");
  };
  const size_t line = text.find('\n');
  const auto url = data::parse_url(text.substr(0, line));
  if (!url) return 0;
  check(*url);
  if (line == std::string_view::npos) return 0;
  const auto to = data::follow_redirect(*url, text.substr(line + 1));
  if (to) check(*to);
  if (to && url->secure && !to->secure) abort_because("a redirect led away from TLS");
  return 0;
}
