// Places a run's snapshot in its working folder, from this machine's cache as far as that has it and in one
// request from the server for the rest. Thread-safe; two attempts with the same snapshot fetch it once.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>

#include "base/result.h"
#include "data/cache.h"
#include "node/agent_link.h"
#include "protocol/node.h"
#include "snapshot/manifest.h"

namespace slipway::node {

class SnapshotPlacer {
 public:
  // Both outlive it.
  SnapshotPlacer(ServerLink& server, data::FileCache& cache) : server_(server), cache_(cache) {}

  // One try. `verdict` of an error says whether to repeat; files that have come are not fetched again.
  // kUnauthenticated and kNotFound: the run's token or the snapshot is gone for good.
  Status place(const AttemptOrder& order, const std::filesystem::path& work);

 private:
  // The manifest, with all that it names in the cache.
  Result<snapshot::Manifest> fetch(const AttemptOrder& order, http::Client& client);
  Result<snapshot::Manifest> manifest(const AttemptOrder& order, http::Client& client);
  Status fetch_missing(const AttemptOrder& order, const snapshot::Manifest& manifest, http::Client& client);

  ServerLink& server_;
  data::FileCache& cache_;

  std::mutex mutex_;
  std::condition_variable fetched_;
  std::set<std::string> fetching_;  // snapshots
};

}  // namespace slipway::node
