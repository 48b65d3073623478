// Sends files of an attempt to the server's artifact store: only those it lacks, small ones packed together,
// large ones several at a time, an interrupted one from where it broke off.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "node/agent_link.h"
#include "node/agent_output_walk.h"

namespace slipway::node {

struct HashedFile {
  FoundFile file;
  Digest digest;
};

// Hashes the file as it is now. kNotFound, or kInvalidArgument when it is no regular file, cannot be read or
// was written meanwhile.
Result<HashedFile> hash_output(int work_fd, const std::string& path);

// Files by path that did not go, and why: they were written meanwhile, or the server refuses them.
using Unsent = std::map<std::string, Error>;

class OutputUploader {
 public:
  // All must outlive it. The token is the run's.
  OutputUploader(ServerLink& server, const WorkspaceName& workspace, const Secret& token, int work_fd)
      : server_(server), workspace_(workspace), token_(token), work_fd_(work_fd) {}

  // Afterwards the server has all files but the unsent ones. An error: the server could not be asked or broke
  // off; repeating sends only the rest.
  Result<Unsent> upload(const std::vector<HashedFile>& files);

 private:
  struct Missing {
    const HashedFile* file = nullptr;
    uint64_t offset = 0;  // bytes the server holds already
  };

  Result<std::vector<Missing>> ask_missing(const std::vector<const HashedFile*>& files, http::Client& client);
  Status send_packs(const std::vector<Missing>& small, http::Client& client, Unsent& unsent);
  Status send_large(const std::vector<Missing>& large, Unsent& unsent);
  Status send_one(Missing missing, http::Client& client);
  Status put(const Missing& missing, http::Client& client);

  ServerLink& server_;
  const WorkspaceName& workspace_;
  const Secret& token_;
  const int work_fd_;
};

}  // namespace slipway::node
