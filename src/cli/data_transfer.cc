#include "cli/data_transfer.h"

#include <fmt/format.h>

#include "cli/answer.h"
#include "http/router.h"

namespace slipway::cli {

Result<FoundVersion> find_version(Session& session, const std::string& reference) {
  FoundVersion found;
  SLIPWAY_ASSIGN(const json::object shown,
                 session.get(session.in_workspace("/data/" + http::percent_encode(reference))));
  found.dataset = fmt::format("{}:{}", text_at(shown, "name"), integer_at(shown, "version"));
  const std::string target = session.in_workspace("/data/" + http::percent_encode(found.dataset));
  http::Call call;
  call.target = target + "/manifest";
  call.sink = [&](std::string_view bytes) -> Status {
    if (found.manifest.size() + bytes.size() > data::kMaxManifestText)
      return fail(ErrorCode::kTooLarge, fmt::format("the manifest of {} is too large", found.dataset));
    found.manifest += bytes;
    return {};
  };
  http::Client client(session.connection().http);
  const auto answer = client.call(std::move(call));
  if (!answer) return fail(session.explained(answer.error()));
  SLIPWAY_ASSIGN(found.files, data::Manifest::parse(found.manifest));
  for (const data::Source& source : found.files.sources())
    found.sources.push_back(
        {.source = source, .location = source.datastore.empty() ? source.location : "", .headers = {}});
  found.content = target + "/content?path=";
  const http::ClientOptions& options = session.connection().http;
  found.server = {.url = options.url, .token = options.token, .ca_file = options.ca_file, .blobs = {}};
  return found;
}

}  // namespace slipway::cli
