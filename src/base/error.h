// What went wrong, for the caller and for the person at the terminal.
//
// Every expected failure in Slipway is an Error value. One table (error.cc) maps its code to the name on the
// wire, the HTTP status and the exit code of the command line, so that the three never disagree.
#pragma once

#include <string>
#include <string_view>

namespace slipway {

enum class ErrorCode {
  kInvalidArgument,   // the request is wrong and stays wrong when repeated
  kUnauthenticated,   // no token, or one that is unknown, expired or revoked
  kPermissionDenied,  // a good token whose role does not allow this
  kNotFound,          // nothing of that name, or nothing the caller may know of
  kConflict,          // the name is taken, or the state does not allow it
  kStale,             // a message about an attempt that has been fenced
  kTooLarge,          // a body, a file or a depth beyond its limit
  kExhausted,         // a bound is reached for now: connections, queue, quota
  kUnsupported,       // understood, and not available here
  kUnavailable,       // the server cannot do it now and can later
  kStorageFull,       // the disk under the server or the node is full
  kUnreachable,       // no server answers at that address
  kTimeout,           // no answer in time
  kRunFailed,         // the run that was waited for did not complete
  kInternal,          // a defect or a failing machine
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // for the user: what happened, and to what
  std::string next;     // for the user: what to do now; may be empty
  std::string detail;   // for the log only: never leaves the server
};

// The stable name used in JSON, e.g. "not_found".
std::string_view error_name(ErrorCode code);
// The code of that name; kInternal for a name this program does not know.
ErrorCode error_code_from_name(std::string_view name);
int http_status(ErrorCode code);
// The code for a status that came without a readable error body.
ErrorCode error_code_from_status(int http_status);
int exit_code(ErrorCode code);

// An error from errno: "cannot open /x: No such file or directory". ENOSPC and EDQUOT become kStorageFull,
// everything else kInternal.
Error errno_error(int errno_value, std::string_view doing);

}  // namespace slipway
