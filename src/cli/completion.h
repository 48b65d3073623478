// What may come next on a command line that is being typed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace slipway::cli {

struct Candidate {
  std::string word;
  std::string about;
  auto operator<=>(const Candidate&) const = default;
};

struct Completion {
  std::vector<Candidate> candidates;  // those that begin with what was typed
  bool files = false;                 // the shell completes names of files, or
  bool folders = false;               // of folders
};

// Gives the names of a kind that only the server knows: runs, clusters. Empty when it cannot be asked.
using Lookup = std::function<std::vector<Candidate>(Completes)>;

// `words` are those after the program's name; the last one is being typed and may be empty.
Completion complete(const CommandNode& root, const std::vector<std::string>& words, const Lookup& lookup);

// The script for a shell: "bash", "zsh" or "fish".
std::string completion_script(const std::string& shell);

}  // namespace slipway::cli
