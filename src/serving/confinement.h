// What a process may touch of the file system, held by Landlock: without privileges, for itself and for all
// that it starts, for good. What is open already stays open; looking at names and sizes is not held back.
#pragma once

#include <filesystem>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace slipway::serving {

// Files, and folders with all below them. What does not exist is passed over.
struct Places {
  std::vector<std::filesystem::path> read;   // and run
  std::vector<std::filesystem::path> write;  // and read
};

class Confinement {
 public:
  // To nothing but these. kUnsupported: the kernel cannot (Linux 5.19 can).
  static Result<Confinement> to(const Places& places);

  // From now on, for this thread and all that it starts; a second one takes away more. System calls alone, so
  // that it can stand between fork and execve.
  bool enter() const { return enter(rules_.get()); }
  static bool enter(int rules);
  int rules() const { return rules_.get(); }

 private:
  explicit Confinement(UniqueFd rules) : rules_(std::move(rules)) {}
  UniqueFd rules_;
};

}  // namespace slipway::serving
