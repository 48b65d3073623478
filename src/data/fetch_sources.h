// The places a manifest's bytes are read from by a node or a client: web servers by themselves, folders where
// this machine has them, and for the rest Slipway's server.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "data/datastores.h"
#include "data/fetch.h"
#include "data/manifest.h"

namespace slipway::data {

// How Slipway's server is asked for content that only it has.
struct ServerContent {
  std::string url;
  Secret token;
  std::string ca_file;
  // The server's own blobs, where this machine shares its home; empty: none.
  std::filesystem::path blobs;
};

Result<SourceAccess> source_access_from_json(const json::object& object);

// A dataset's version with all that is needed to fetch its files. Not movable: the wanted files point into
// it. Safe to read from any thread.
class FetchableVersion {
 public:
  struct Origin {
    std::string dataset;  // "mnist:2"
    Manifest manifest;
    // In the order of the manifest's. One without a location is read through Slipway's server.
    std::vector<SourceAccess> sources;
    std::string content;  // the server's target for a file, which lacks only its path
    bool verify = true;   // false: each file is looked at first, and taken as it is now
  };
  static Result<std::unique_ptr<FetchableVersion>> open(Origin origin, const ServerContent& server);

  const std::string& dataset() const { return dataset_; }
  const std::vector<File>& files() const { return files_; }
  const std::vector<WantedFile>& wanted() const { return wanted_; }
  uint64_t bytes() const { return bytes_; }
  // The path of the version below the folder it is placed in: its only file, or "" for the folder itself.
  std::string entry() const { return files_.size() == 1 ? files_.front().path : ""; }
  // How many files are not those of the version any more; without `verify` alone.
  uint64_t changed() const { return changed_; }

 private:
  FetchableVersion() = default;
  Status take_as_they_are();

  std::string dataset_;
  std::vector<File> files_;
  std::vector<std::unique_ptr<ByteSource>> sources_;
  std::vector<WantedFile> wanted_;
  uint64_t bytes_ = 0;
  uint64_t changed_ = 0;
};

}  // namespace slipway::data
