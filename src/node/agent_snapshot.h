// Places snapshots, which a run's code and its models are, from this machine's cache as far as that has them
// and from the server for the rest: small files packed together, large ones by themselves. Thread-safe; two
// attempts with the same snapshot fetch it once.
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

  // One try; nothing for an empty digest. `verdict` of an error says whether to repeat; files that have come
  // are not fetched again. kUnauthenticated and kNotFound: the run's token or the snapshot is gone for good.
  Status place(const AttemptOrder& order, const std::string& digest, const std::filesystem::path& folder);

  // What earlier attempts of the run have left in ./outputs, put into the working folder of this one: a job
  // goes on from its checkpoints. One try; gives the number of files.
  Result<size_t> place_outputs(const AttemptOrder& order, const std::filesystem::path& work);

 private:
  // The manifest, with all that it names in the cache.
  Result<snapshot::Manifest> fetch(const WorkspaceName& workspace, const std::string& digest,
                                   http::Client& client);
  Result<snapshot::Manifest> manifest(const WorkspaceName& workspace, const std::string& digest,
                                      http::Client& client);
  // `target`: of the snapshot on the server.
  Status fetch_missing(const std::string& target, const snapshot::Manifest& manifest, http::Client& client);
  Status fetch_pack(const std::string& target, const std::vector<Digest>& digests, http::Client& client);
  Status fetch_large(const std::string& target, const Digest& digest, http::Client& client);

  ServerLink& server_;
  data::FileCache& cache_;

  std::mutex mutex_;
  std::condition_variable fetched_;
  std::set<std::string> fetching_;  // snapshots
};

}  // namespace slipway::node
