#include "base/ids.h"

#include <algorithm>

namespace slipway {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

Status check_name(std::string_view name, std::string_view what, size_t max) {
  const std::string rule =
      fmt::format("use up to {} letters, digits, '-', '_' and '.', beginning with a letter or digit", max);
  if (name.empty()) return fail(ErrorCode::kInvalidArgument, fmt::format("the {} name is empty", what), rule);
  const bool good = name.size() <= max && is_alphanumeric(name.front()) &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
                    });
  if (good) return {};
  // The name comes from outside: what is shown of it is bounded, and control characters do not reach a
  // terminal.
  std::string shown(name.substr(0, 64));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a valid {} name", shown, what), rule);
}

}  // namespace slipway
