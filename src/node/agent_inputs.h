// Places a run's inputs on this node: downloads them through the cache, or prepares the order by which the
// supervisor's side mounts them.
//
//   1. Where mounting is not possible here, the run says so in its time line and the data is downloaded.
//   2. What has come of an interrupted download, also one of a killed agent, is not fetched again.
//   3. Credentials come with the server's answer, go to the fetching code and into memory handed to the
//      supervisor, and nowhere else.
//   4. Content that is not its version's ends the run, unless the input says otherwise; then the run says
//      how many files had changed.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "data/cache.h"
#include "data/fetch_sources.h"
#include "data/mount/serve.h"
#include "node/agent_config.h"
#include "node/agent_link.h"
#include "node/agent_preparation.h"
#include "node/agent_signals.h"
#include "protocol/node.h"

namespace slipway::node {

struct PlacedInputs {
  std::map<std::string, std::string> paths;  // by the input's name
  std::vector<std::string> mounts;           // where the supervisor is to mount
  std::vector<std::string> elsewhere;        // folders of inputs outside the attempt's
  UniqueFd mount_order;                      // what it is to mount: memory, to be its standard input
};

class InputPlacer {
 public:
  // All outlive it. `cache_bytes`: the cache's bound.
  InputPlacer(const NodePaths& paths, const std::string& ca_file, ServerLink& server, data::FileCache& cache,
              uint64_t cache_bytes)
      : paths_(paths), ca_file_(ca_file), server_(server), cache_(cache), cache_bytes_(cache_bytes) {}

  // Waits for the server; ends early, with any error, when the attempt is interrupted or canceled.
  Result<PlacedInputs> place(const AttemptOrder& order, const std::filesystem::path& folder,
                             AttemptSignals& signals, PreparationLog& log);

 private:
  class Placing;

  // Tried out once for all attempts.
  const Result<data::MountWay>& mount_way();
  data::ServerContent server_content(const Secret& token) const;

  const NodePaths& paths_;
  const std::string ca_file_;
  ServerLink& server_;
  data::FileCache& cache_;
  const uint64_t cache_bytes_;

  std::mutex mutex_;
  std::optional<Result<data::MountWay>> mount_way_;
};

}  // namespace slipway::node
