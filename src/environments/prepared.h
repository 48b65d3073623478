// What a process finds when it starts in an environment.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::environments {

// Lines for the preparing phase's log.
using BuildLog = std::function<void(std::string_view line)>;

// What an environment adds to a process. The supervisor knows nothing of environments: all of it ends in the
// program, the variables and the mounts it is told of.
struct PreparedEnvironment {
  std::string path_prefix;  // "folder:folder" before PATH, or empty
  std::map<std::string, std::string> variables;
  std::string python;             // its version; empty: not known
  std::filesystem::path guarded;  // a folder that shares files with others: a job sees a private copy of it
  std::filesystem::path root;     // the files of an image: a job sees a private copy as its whole file system
  std::string shm_size;           // of an image's /dev/shm: "2g"
};

}  // namespace slipway::environments
