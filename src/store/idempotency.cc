#include "store/idempotency.h"

namespace slipway::store {

Result<std::optional<std::string>> find_made(Reader& reader, const RequestKey& request) {
  std::optional<std::string> result;
  if (request.key.empty()) return result;
  bool same_body = true;
  SLIPWAY_TRY(reader.query("SELECT body_digest, result FROM idempotency WHERE workspace = ? AND key = ?",
                           {request.scope, request.key}, [&](const Row& row) {
                             same_body = row.text(0) == request.body.hex();
                             result = row.text(1);
                           }));
  if (!same_body)
    return fail(ErrorCode::kConflict, "this Idempotency-Key was used for another request",
                "use a new key for a new request");
  return result;
}

Status remember_made(Writer& writer, const RequestKey& request, std::string_view result, Timestamp now) {
  if (request.key.empty()) return {};
  return writer.run(
      "INSERT INTO idempotency (workspace, key, body_digest, result, created_at) VALUES (?, ?, ?, ?, ?)",
      {request.scope, request.key, request.body.hex(), result, now});
}

Status forget_made(Writer& writer, Timestamp before) {
  return writer.run("DELETE FROM idempotency WHERE created_at < ?", {before});
}

}  // namespace slipway::store
