// The half of SnapshotPlacer that gives a later attempt what the earlier ones have left in ./outputs.
#include <fmt/format.h>

#include "http/router.h"
#include "node/agent_snapshot.h"
#include "snapshot/tree.h"

namespace slipway::node {
namespace {

constexpr int kPage = 1000;

Result<snapshot::Entry> entry_from_json(const json::value& item) {
  if (!item.is_object()) return fail(ErrorCode::kInternal, "the server sent a file that is no object");
  SLIPWAY_ASSIGN(const OutputFile file, output_file_from_json(item.get_object()));
  SLIPWAY_ASSIGN(const Digest digest, Digest::parse(file.digest));
  return snapshot::Entry{
      .path = file.path, .mode = (file.mode & 0111) != 0 ? 0755 : 0644, .size = file.size, .digest = digest};
}

Result<snapshot::Manifest> kept_outputs(const std::string& target, http::Client& client) {
  std::vector<snapshot::Entry> entries;
  std::string cursor;
  do {
    http::Call call;
    call.target = fmt::format("{}?prefix=outputs/&limit={}", target, kPage);
    if (!cursor.empty()) call.target += "&cursor=" + http::percent_encode(cursor);
    SLIPWAY_ASSIGN(const http::ClientResponse answer, client.call(std::move(call)));
    SLIPWAY_ASSIGN(const json::object page, parse_json_object(answer.body, "the run's files"));
    json::array items;
    cursor.clear();
    JsonFields fields(page, "the run's files");
    fields.required("items", items);
    fields.optional("next_cursor", cursor);
    SLIPWAY_TRY(fields.finish_lenient());
    for (const json::value& item : items) {
      SLIPWAY_ASSIGN(snapshot::Entry entry, entry_from_json(item));
      entries.push_back(std::move(entry));
    }
  } while (!cursor.empty());
  return snapshot::Manifest::from_entries(std::move(entries));
}

}  // namespace

Result<size_t> SnapshotPlacer::place_outputs(const AttemptOrder& order, const std::filesystem::path& work) {
  const std::string target =
      ServerLink::workspace_target(order.workspace, fmt::format("runs/{}/files", order.key.run));
  ServerLink::Lease client = server_.borrow_as(order.run_token);
  SLIPWAY_ASSIGN(const snapshot::Manifest manifest, kept_outputs(target, *client));
  const auto open = [&](const snapshot::Entry& entry) -> Result<UniqueFd> {
    if (!cache_.holds(entry.digest, entry.size)) {
      SLIPWAY_ASSIGN(const auto writer, cache_.begin(entry.digest));
      http::Call call;
      call.target = fmt::format("{}/content?path={}", target, http::percent_encode(entry.path));
      call.sink = [&writer](std::string_view bytes) { return writer->append(bytes); };
      SLIPWAY_ASSIGN(const http::ClientResponse answer, client->call(std::move(call)));
      if (Status whole = writer->finish(); !whole)
        return fail(ErrorCode::kUnavailable, whole.error().message);  // worth another try
    }
    auto opened = cache_.open_file(entry.digest, entry.size);
    // Taken by whoever trims the cache.
    if (!opened && opened.error().code == ErrorCode::kNotFound) opened.error().code = ErrorCode::kUnavailable;
    return opened;
  };
  SLIPWAY_TRY(snapshot::write_tree(manifest, work, open));
  cache_.trim();
  return manifest.entries().size();
}

}  // namespace slipway::node
