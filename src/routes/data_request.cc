#include "routes/data_request.h"

#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "data/spool.h"
#include "http/range.h"

namespace slipway::routes {
namespace {

constexpr uint64_t kLargestInMemory = 32 << 20;
constexpr uint64_t kLargestFetchedPart = 8ULL << 30;

Result<decltype(http::Response::body)> fetched_body(const data::Range& wanted, const data::Object& object,
                                                    const ReadPart& read) {
  const bool in_memory = wanted.length <= kLargestInMemory;
  std::string bytes;
  UniqueFd spool;
  if (!in_memory) {
    SLIPWAY_ASSIGN(spool, data::open_spool());
  }
  uint64_t count = 0;
  SLIPWAY_TRY(read(wanted, [&](std::string_view piece) -> Status {
    count += piece.size();
    if (!in_memory) return write_all(spool.get(), piece);
    bytes += piece;
    return {};
  }));
  if (count != wanted.length)
    return fail(ErrorCode::kConflict, fmt::format("the file '{}' is shorter than it was", object.path));
  if (in_memory) return bytes;
  return std::make_shared<http::FileBody>(
      http::FileBody{.fd = std::move(spool), .offset = 0, .length = wanted.length});
}

}  // namespace

Result<std::vector<data::StoredFile>> stored_files_from_json(const json::array& list) {
  std::vector<data::StoredFile> files;
  files.reserve(list.size());
  for (const json::value& item : list) {
    if (!item.is_object()) return fail(ErrorCode::kInvalidArgument, "a file is an object");
    data::StoredFile file;
    std::string digest;
    JsonFields fields(item.get_object(), "a file");
    fields.required("path", file.path);
    fields.required("digest", digest);
    fields.required("size", file.size);
    SLIPWAY_TRY(fields.finish_lenient());
    SLIPWAY_ASSIGN(file.digest, Digest::parse(digest));
    files.push_back(std::move(file));
  }
  return files;
}

Result<http::Response> range_response(const http::Request& request, const data::Object& object,
                                      const ReadPart& read) {
  const auto header = request.header("range");
  const http::ByteRange range = http::parse_range(header.value_or(""), object.size);
  http::Response response;
  response.content_type = "application/octet-stream";
  response.headers["Accept-Ranges"] = "bytes";
  if (range.kind == http::ByteRange::Kind::kUnsatisfiable) {
    response.status = 416;
    response.headers["Content-Range"] = fmt::format("bytes */{}", object.size);
    return response;
  }
  const bool part = range.kind == http::ByteRange::Kind::kPart;
  const data::Range wanted{.offset = part ? range.offset : 0, .length = part ? range.length : object.size};
  if (wanted.length > kLargestFetchedPart)
    return fail(ErrorCode::kTooLarge,
                fmt::format("at most {} GiB of this file at once", kLargestFetchedPart >> 30),
                "ask for it in ranges");
  SLIPWAY_ASSIGN(response.body, fetched_body(wanted, object, read));
  if (part) {
    response.status = 206;
    response.headers["Content-Range"] =
        fmt::format("bytes {}-{}/{}", wanted.offset, wanted.offset + wanted.length - 1, object.size);
  }
  return response;
}

}  // namespace slipway::routes
