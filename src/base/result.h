// Result<T>: a value or an Error. Errors are returned, never thrown; exceptions of third-party libraries are
// caught where they arise and turned into one.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "base/error.h"

namespace slipway {

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

// `return fail(ErrorCode::kNotFound, "there is no run 'x'", "slipway run list shows what there is");`
inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string next = "") {
  return std::unexpected(
      Error{.code = code, .message = std::move(message), .next = std::move(next), .detail = ""});
}

inline std::unexpected<Error> fail(Error error) {
  return std::unexpected(std::move(error));
}

}  // namespace slipway

#define SLIPWAY_CONCAT_INNER(a, b) a##b
#define SLIPWAY_CONCAT(a, b) SLIPWAY_CONCAT_INNER(a, b)

// Leaves the function with the error of `expression`, a Status, if it has one.
#define SLIPWAY_TRY(expression)                                           \
  do {                                                                    \
    if (auto slipway_status = (expression); !slipway_status) [[unlikely]] \
      return std::unexpected(std::move(slipway_status).error());          \
  } while (false)

// `SLIPWAY_ASSIGN(auto run, find_run(id));` declares the value, or leaves the function with the error.
#define SLIPWAY_ASSIGN(declaration, expression) \
  SLIPWAY_ASSIGN_INNER(SLIPWAY_CONCAT(slipway_result_, __LINE__), declaration, expression)
#define SLIPWAY_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                                 \
  if (!result) [[unlikely]]                                   \
    return std::unexpected(std::move(result).error());        \
  declaration = std::move(result).value()
