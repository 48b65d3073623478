// Serves the mounts of one run, or of one `slipway data mount`, until it is told to end.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/cache.h"
#include "data/fetch_sources.h"
#include "data/mount/attach.h"

namespace slipway::data {

// One version and the folder it is to be seen in.
struct MountPlan {
  std::string at;
  std::string dataset;  // "mnist:2"
  bool verify = true;
  std::vector<SourceAccess> sources;
  std::string content;   // see FetchableVersion::Origin
  std::string manifest;  // its text
};

// What a process that mounts is given. Holds credentials: it is handed on in memory alone.
struct MountOrder {
  std::string cache;  // the folder
  uint64_t cache_bytes = 0;
  MountWay way = MountWay::kPrivileged;
  ServerContent server;
  std::vector<MountPlan> mounts;
};

// A line of JSON, then the manifests as they are.
std::string to_text(const MountOrder& order);
Result<MountOrder> mount_order_from_text(std::string_view text);

// Mounts are there from `mount` on and until it is destroyed.
class MountServer {
 public:
  // `on_mismatch` is called once for each mount, from any thread, when content is not its version's any more.
  static Result<std::unique_ptr<MountServer>> start(MountOrder order,
                                                    std::function<void(const Error&)> on_mismatch);
  ~MountServer();
  MountServer(const MountServer&) = delete;
  MountServer& operator=(const MountServer&) = delete;

  // Whether every mount is still served: false once somebody has unmounted one.
  bool serving() const;

 private:
  struct Served;
  MountServer() = default;
  Status add(const MountOrder& order, const MountPlan& plan,
             const std::function<void(const Error&)>& on_mismatch);

  std::unique_ptr<FileCache> cache_;
  std::vector<std::unique_ptr<Served>> served_;
};

}  // namespace slipway::data
