// Open files of this process.
#pragma once

#include <sys/resource.h>

namespace slipway::roles {

// As many as the system allows: each connection is one, and each open blob.
inline void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace slipway::roles
