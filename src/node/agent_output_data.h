// Keeps what a job writes into its data outputs: each is a folder of the attempt, and its files go to the
// datastore the job names. The server puts them there; a folder of a datastore is never written by a job
// itself, so that what lies in it is whole.
//
//  1. Mode upload: at the end. Mode mount: also during the run, as soon as a file has settled.
//  2. A file is put into the datastore only after its bytes are stored; one that was written again goes
//  again.
//  3. What cannot be kept is reported with the reason and never keeps a run from ending. A file of the job's
//  that is lost so makes it fail; links, pipes and their like are only named.
//
// Not thread-safe; used by one thread at a time.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "node/agent_link.h"
#include "node/agent_output_walk.h"
#include "node/agent_upload.h"
#include "protocol/node.h"

namespace slipway::node {

class DataOutputs {
 public:
  // Makes the folders in the attempt's; where each is, by the output's name.
  static Result<std::map<std::string, std::string>> make(const AttemptOrder& order,
                                                         const std::filesystem::path& folder);

  // The link outlives it.
  DataOutputs(ServerLink& server, const AttemptOrder& order, const std::filesystem::path& folder);

  // Of outputs in mode mount: what has not been written for `settled` and is not kept as it is.
  std::vector<FoundFile> due(Duration settled) const;
  // One try at keeping them. Files that change again meanwhile stay due.
  Status keep(const std::vector<FoundFile>& files);
  // After the end: keeps everything, and reports what it could not keep. One try; repeating goes on where it
  // broke off.
  Status keep_all();
  // What the last keep_all has lost, as a sentence about the first of it; empty: nothing.
  const std::string& lost() const { return lost_; }

 private:
  std::vector<FoundFile> walk(bool mounts_only, std::vector<SkippedFile>& skipped) const;
  Status keep_slice(std::span<const FoundFile> files, std::vector<SkippedFile>& skipped);
  Status put(const std::string& output, const std::vector<HashedFile>& files,
             std::vector<SkippedFile>& skipped);
  void lose(const FoundFile& file, const Error& why, std::vector<SkippedFile>& skipped);

  ServerLink& server_;
  const AttemptOrder order_;
  UniqueFd folder_;
  std::map<std::string, FileStamp> kept_;
  std::map<std::string, FileStamp> refused_;  // while the job ran; tried once more at the end
  std::string lost_;
};

}  // namespace slipway::node
