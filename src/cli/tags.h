// Tags as they are written on the command line.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "client/requests.h"

namespace slipway::cli {

// What to send to change tags: those of `set` (NAME=VALUE) with their values, those of `remove` as null.
Result<json::object> tag_changes(const std::vector<std::string>& set, const std::vector<std::string>& remove);

// A list's --tag, which must have a name and a value; empty: the list is not narrowed.
Status narrow_by_tag(const std::string& tag, client::Query& query);

}  // namespace slipway::cli
