// What routes on data read from a request and write into an answer.
#pragma once

#include <functional>
#include <vector>

#include "base/json.h"
#include "data/datastore.h"
#include "data/workspace_datastore.h"
#include "http/message.h"

namespace slipway::routes {

// [{"path", "digest", "size"}]: files whose bytes were uploaded before.
Result<std::vector<data::StoredFile>> stored_files_from_json(const json::array& list);

using ReadPart = std::function<Status(const data::Range& range, const data::Sink& sink)>;
// Answers Range (one range) for an object that has to be fetched first: a part of up to 32 MiB through
// memory, a larger one through a file; beyond 8 GiB kTooLarge.
Result<http::Response> range_response(const http::Request& request, const data::Object& object,
                                      const ReadPart& read);

}  // namespace slipway::routes
