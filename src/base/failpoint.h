// Named places where a test can make the process die or an operation fail. Compiled out of release builds.
//
// SLIPWAY_FAILPOINTS="run.before_commit=kill@3,blob.sync=error" in the environment: at the third pass of
// run.before_commit the process sends itself SIGKILL; each pass of blob.sync reports an error. With
// SLIPWAY_FAILPOINT_RECORD=FILE each name passed is appended to FILE once, so that a suite can visit them
// all.
#pragma once

#include "base/result.h"

namespace slipway {

#ifdef SLIPWAY_WITH_FAILPOINTS
// Dies here when so ordered; true when the operation is to fail.
bool failpoint_hit(const char* name);
#define SLIPWAY_FAILPOINT(name) ((void)::slipway::failpoint_hit(name))
#define SLIPWAY_FAILPOINT_ERROR(name)                                                        \
  do {                                                                                       \
    if (::slipway::failpoint_hit(name))                                                      \
      return ::slipway::fail(::slipway::ErrorCode::kInternal, "failpoint " name " was hit"); \
  } while (false)
#else
#define SLIPWAY_FAILPOINT(name) ((void)0)
#define SLIPWAY_FAILPOINT_ERROR(name) ((void)0)
#endif

}  // namespace slipway
