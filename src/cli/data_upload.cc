#include "cli/data_upload.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/answer.h"
#include "cli/local_files.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

constexpr size_t kFilesAtOnce = 50'000;

// Gives the blobs their paths; false: the server lacks some of them.
Result<bool> register_files(client::Requests& requests, const std::string& target, const std::string& prefix,
                            const snapshot::Manifest& files, const std::string& existing,
                            UploadedData& uploaded) {
  const auto& entries = files.entries();
  uploaded.skipped.clear();
  for (size_t start = 0; start < entries.size(); start += kFilesAtOnce) {
    json::array list;
    for (size_t i = start; i < std::min(start + kFilesAtOnce, entries.size()); ++i)
      list.push_back(json::object{{"path", fmt::format("{}{}", prefix, entries[i].path)},
                                  {"digest", entries[i].digest.hex()},
                                  {"size", entries[i].size}});
    const json::object body{{"files", std::move(list)}, {"existing", existing}};
    const auto answer = requests.call(http::Method::kPost, target, &body);
    if (!answer && answer.error().code == ErrorCode::kConflict &&
        answer.error().message.contains("not uploaded"))
      return false;
    if (!answer) return fail(answer.error());
    for (std::string& path : texts_at(*answer, "skipped")) uploaded.skipped.push_back(std::move(path));
  }
  return true;
}

}  // namespace

Result<UploadedData> upload_data(Context& context, Session& session, const UploadWish& wish) {
  UploadedData uploaded;
  SLIPWAY_ASSIGN(const json::object store,
                 session.get(session.in_workspace("/datastores/" + http::percent_encode(wish.datastore))));
  uploaded.datastore = text_at(store, "name");
  if (text_at(store, "kind") != "workspace")
    return fail(ErrorCode::kUnsupported,
                fmt::format("the datastore '{}' is not one of the workspace's own", uploaded.datastore),
                "copy the files to where it lies, or upload to workspaceblobstore");
  SLIPWAY_ASSIGN(const LocalFiles source, read_local_files(context, wish.from, PathsBegin::kInside));
  uploaded.digest = source.files.id().hex();
  uploaded.path = wish.path.empty() ? "uploads/" + uploaded.digest.substr(0, 16) : wish.path;
  while (uploaded.path.ends_with('/')) uploaded.path.pop_back();
  uploaded.files = source.files.entries().size();
  uploaded.bytes = source.files.total_bytes();
  const std::string target =
      session.in_workspace("/datastores/" + http::percent_encode(uploaded.datastore) + "/files");
  const auto publish = [&](client::Requests& requests) {
    return register_files(requests, target, uploaded.path + "/", source.files, wish.existing, uploaded);
  };
  SLIPWAY_ASSIGN(const client::UploadSummary sent, send_local_files(context, session, source, publish));
  uploaded.sent_bytes = sent.sent_bytes;
  return uploaded;
}

}  // namespace slipway::cli
