#include "cli/tags.h"

#include <fmt/format.h>

#include "cli/quantities.h"

namespace slipway::cli {

Result<json::object> tag_changes(const std::vector<std::string>& set,
                                 const std::vector<std::string>& remove) {
  json::object tags;
  for (const std::string& tag : set) {
    const size_t equals = tag.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a tag", printable(tag, 64)),
                  "write it as NAME=VALUE");
    tags[tag.substr(0, equals)] = tag.substr(equals + 1);
  }
  for (const std::string& name : remove) tags[name] = nullptr;
  return tags;
}

Status narrow_by_tag(const std::string& tag, client::Query& query) {
  if (tag.empty()) return {};
  if (tag.find('=') == std::string::npos)
    return fail(ErrorCode::kInvalidArgument, fmt::format("--tag: '{}' has no value", printable(tag, 64)),
                "write it as NAME=VALUE");
  query["tag"] = tag;
  return {};
}

}  // namespace slipway::cli
