// A folder that a dataset's files are put into, and nothing outside of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace slipway::data {

// Paths are those of a manifest: clean and relative. Links inside the folder are not followed; a file that
// has the name of a new one is replaced. Safe to use from several threads at once.
class TargetFolder {
 public:
  // Makes it where it lacks.
  static Result<TargetFolder> open(const std::filesystem::path& path);

  // From the beginning of `from`. Shares the disk's blocks where the file system can.
  Status copy(int from, const std::string& relative, uint64_t size) const;
  // Gives the file `from`, on the same disk, its place here. kNotFound when there is no such file (any more).
  Status take(const std::filesystem::path& from, const std::string& relative) const;
  // The file that is there under that name, for reading. kNotFound.
  Result<UniqueFd> open_file(const std::string& relative) const;

 private:
  TargetFolder(std::filesystem::path path, UniqueFd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  Status explained(const Status& status, const std::string& relative) const;

  std::filesystem::path path_;
  UniqueFd folder_;
};

}  // namespace slipway::data
