// What several routes about runs read from a request: filters, tags, properties, names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "http/message.h"
#include "runs/run_table.h"

namespace slipway::routes {

// tag=key=value, and tags and properties as JSON objects whose values are texts, or null for any.
struct PairFilter {
  std::vector<runs::WantedPair> tags;
  std::vector<runs::WantedPair> properties;
};
Result<PairFilter> pair_filter_of(const http::Request& request);

// limit, cursor, experiment, state, type, tag=key=value, and tags and properties as JSON objects whose values
// are texts, or null for any.
Result<runs::RunFilter> filter_of(const http::Request& request);

// Tags to set, and those to remove: the ones whose value is null.
struct TagChange {
  std::map<std::string, std::string> set;
  std::vector<std::string> remove;
};
Result<TagChange> tag_change(const json::object& tags);

// An object of texts that is to be stored; `what` is "tag" or "property".
Result<std::map<std::string, std::string>> pairs_of(const json::object& object, std::string_view what);

// A display name or a description. kInvalidArgument when it is too long or holds control characters.
Status check_display_name(const std::string& name);
Status check_description(const std::string& text);

}  // namespace slipway::routes
