// Where converted models are kept: below one folder, by key, with a bound on how many.
//
//   entries/<key>/    a whole result; its time is that of its last use
//   aside/<key>/      what is being made: result/ and scratch/
//   locks/<2 digits>  held by who makes a result whose key begins so
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/digest.h"
#include "base/file.h"
#include "base/result.h"

namespace slipway::serving {

// Over the names and contents of a file, or of all files below a folder; links to folders are not followed.
Result<Digest> digest_of_files(const std::filesystem::path& path);

// Removes what is there when it goes.
class AsideFolder {
 public:
  static Result<AsideFolder> make(const std::filesystem::path& folder);
  AsideFolder(AsideFolder&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  AsideFolder& operator=(AsideFolder&&) = delete;
  ~AsideFolder();

  std::filesystem::path result() const { return folder_ / "result"; }
  std::filesystem::path scratch() const { return folder_ / "scratch"; }

 private:
  explicit AsideFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

// Used by several processes at a time; by one thread in each.
class ConvertedFolder {
 public:
  explicit ConvertedFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Either the result is there, or the caller is the one to make it while it holds this.
  struct Turn {
    std::optional<std::filesystem::path> result;
    std::optional<FileLock> lock;
    std::optional<AsideFolder> aside;
  };
  // kTimeout when another process makes it for longer than `patience`. Removes what is old.
  Result<Turn> wait_for(const std::string& key, std::chrono::milliseconds patience);

  // Makes the result of a turn visible.
  Result<std::filesystem::path> keep(const std::string& key, const AsideFolder& aside);

 private:
  std::filesystem::path entry(const std::string& key) const { return folder_ / "entries" / key; }
  std::filesystem::path lock_of(const std::string& key) const { return folder_ / "locks" / key.substr(0, 2); }
  void remove_old() const;

  std::filesystem::path folder_;
};

}  // namespace slipway::serving
