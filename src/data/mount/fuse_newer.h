// What the kernel's FUSE protocol has gained since the header of Debian 12 (7.38): passthrough, from 7.40.
#pragma once

#include <linux/fuse.h>
#include <sys/ioctl.h>

#include <cstdint>

namespace slipway::data::fuse {

constexpr uint32_t kMinorWithPassthrough = 40;
constexpr uint32_t kInitPassthrough2 = 1U << 5;  // bit 37, in flags2
constexpr uint32_t kOpenPassthrough = 1U << 7;

struct BackingMap {
  int32_t fd;
  uint32_t flags;
  uint64_t padding;
};
constexpr unsigned long kBackingOpen = _IOW(FUSE_DEV_IOC_MAGIC, 1, BackingMap);
constexpr unsigned long kBackingClose = _IOW(FUSE_DEV_IOC_MAGIC, 2, uint32_t);

}  // namespace slipway::data::fuse
