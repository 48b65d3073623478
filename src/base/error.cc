#include "base/error.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace slipway {
namespace {

struct Row {
  ErrorCode code;
  std::string_view name;
  int http_status;
  int exit_code;
};

// The one table. Exit codes 0 (done) and 1 (any other failure) need no row of their own; a followed run exits
// with its script's code instead (docs/exit-codes.md).
constexpr std::array kTable{
    Row{ErrorCode::kInvalidArgument, "invalid_argument", 400, 2},
    Row{ErrorCode::kUnauthenticated, "unauthenticated", 401, 3},
    Row{ErrorCode::kPermissionDenied, "permission_denied", 403, 4},
    Row{ErrorCode::kNotFound, "not_found", 404, 5},
    Row{ErrorCode::kConflict, "conflict", 409, 6},
    Row{ErrorCode::kStale, "stale", 409, 6},
    Row{ErrorCode::kTooLarge, "too_large", 413, 7},
    Row{ErrorCode::kExhausted, "exhausted", 429, 8},
    Row{ErrorCode::kUnsupported, "unsupported", 501, 9},
    Row{ErrorCode::kUnavailable, "unavailable", 503, 10},
    Row{ErrorCode::kStorageFull, "storage_full", 507, 11},
    Row{ErrorCode::kUnreachable, "unreachable", 502, 12},
    Row{ErrorCode::kTimeout, "timeout", 504, 13},
    Row{ErrorCode::kRunFailed, "run_failed", 500, 14},
    Row{ErrorCode::kInternal, "internal", 500, 1},
};

const Row& row_of(ErrorCode code) {
  for (const Row& row : kTable)
    if (row.code == code) return row;
  return kTable.back();
}

}  // namespace

std::string_view error_name(ErrorCode code) {
  return row_of(code).name;
}

ErrorCode error_code_from_name(std::string_view name) {
  for (const Row& row : kTable)
    if (row.name == name) return row.code;
  return ErrorCode::kInternal;
}

int http_status(ErrorCode code) {
  return row_of(code).http_status;
}

ErrorCode error_code_from_status(int http_status) {
  for (const Row& row : kTable)
    if (row.http_status == http_status) return row.code;
  return http_status >= 400 && http_status < 500 ? ErrorCode::kInvalidArgument : ErrorCode::kInternal;
}

int exit_code(ErrorCode code) {
  return row_of(code).exit_code;
}

Error errno_error(int errno_value, std::string_view doing) {
  const bool full = errno_value == ENOSPC || errno_value == EDQUOT;
  return Error{.code = full ? ErrorCode::kStorageFull : ErrorCode::kInternal,
               .message = fmt::format("cannot {}: {}", doing, std::strerror(errno_value)),
               .next = full ? "free some space on that disk and try again" : "",
               .detail = ""};
}

}  // namespace slipway
