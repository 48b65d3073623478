// Keeps what a job leaves in ./outputs: during the run the files that have settled, at its end all of them.
//
//  1. A file is reported to the server only after its bytes are stored there.
//  2. A file that was kept and written again is kept again; the server has the last one.
//  3. What cannot be kept is reported with the reason, and never keeps a run from ending.
//  4. Files that were there from the beginning, since an earlier attempt had left them, are not kept again
//     unless they are written: of several nodes only the one that goes on with a file has the last of it.
//  5. Files the job asked for survive a restart of the agent: they stand in `keep` in the attempt's
//     folder before the journal that asks for them is acknowledged.
//
// `ask` may be called from any thread; the others from one at a time.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "node/agent_link.h"
#include "node/agent_output_walk.h"
#include "node/agent_upload.h"
#include "protocol/node.h"

namespace slipway::node {

// Before the job starts: notes which files ./outputs has by then, for the keepers to come.
Status note_restored(const std::filesystem::path& folder);

class OutputKeeper {
 public:
  // `folder`: the attempt's. The link outlives the keeper.
  OutputKeeper(ServerLink& server, AttemptOrder order, std::filesystem::path folder);

  // The job wants this file of its working folder kept, inside ./outputs or not.
  void ask(const std::vector<std::string>& paths);

  // What has not been written for `settled` and is not kept as it is. Cheap when nothing has changed.
  std::vector<FoundFile> due(Duration settled);
  // One try at keeping them. Files that change again meanwhile stay due.
  Status keep(const std::vector<FoundFile>& files);

  // After the end: keeps everything, and reports what it could not keep. One try: an error of the server, of
  // which `verdict` says whether repeating helps. Repeating goes on where it broke off.
  Status keep_all();

 private:
  void load_asked();
  void load_restored();
  std::vector<FoundFile> asked_files(std::vector<SkippedFile>& skipped);
  Result<std::vector<SkippedFile>> keep_slice(const std::vector<FoundFile>& files);
  std::vector<HashedFile> hash(const std::vector<FoundFile>& files, std::vector<SkippedFile>& skipped);
  Status report(const std::vector<HashedFile>& files, const std::vector<SkippedFile>& skipped);

  ServerLink& server_;
  const AttemptOrder order_;
  const std::filesystem::path folder_;
  UniqueFd work_;
  std::map<std::string, FileStamp> kept_;

  std::mutex asked_mutex_;
  std::set<std::string> asked_;
};

}  // namespace slipway::node
