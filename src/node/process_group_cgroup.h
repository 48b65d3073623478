// One cgroup folder: the files of it that are of use, for v1 and v2 alike.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace slipway::node {

class Cgroup {
 public:
  explicit Cgroup(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  bool create() const;
  bool has(std::string_view file) const;
  // False when there is no such file or the kernel will not take the value.
  bool write(std::string_view file, std::string_view value) const;
  // The number in a file that holds one, or the one after `key` in a file of "key number" lines.
  std::optional<uint64_t> read_number(std::string_view file, std::string_view key = "") const;
  // Zombies are not among them.
  std::vector<pid_t> processes() const;

  // SIGKILL to all: cgroup.kill, or all of them frozen and killed together, or as listed until none is left.
  void kill_all() const;
  // Removes the folder and those the job made below it; tries again for up to about half a second while the
  // kernel still lets go of the last processes.
  bool remove() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace slipway::node
