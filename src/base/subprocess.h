// Other programs: started from an argument array, never through a shell.
//
// A child gets the descriptors it is given and no other, default signals, and a session or a process group of
// its own, so that it can be ended with all that it has started. Thread-safe.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace slipway {

struct SpawnOptions {
  std::filesystem::path program;         // a path: it is not looked up
  std::vector<std::string> arguments;    // with the name it is called by as the first
  std::vector<std::string> environment;  // NAME=VALUE, all of it
  std::filesystem::path folder;          // empty: the caller's
  int in = -1;                           // -1: /dev/null
  int out = -1;
  int err = -1;
  bool own_session = false;       // otherwise a process group of its own
  bool dies_with_thread = false;  // killed when the thread that starts it ends, however that happens
};

// The caller reaps the child. An error says why the program could not be started.
Result<pid_t> spawn_program(const SpawnOptions& options);

// How a child ended; nullopt while it lives. Reaps it.
std::optional<int> try_reap(pid_t pid);
// "exit code 3", "signal 9 (Killed)"
std::string describe_wait_status(int status);

// This process's own environment, and one in the form that a child is given.
std::map<std::string, std::string> own_environment();
std::vector<std::string> environment_list(const std::map<std::string, std::string>& variables);

// The first executable file of that name in a PATH-like list of folders; empty when there is none.
std::filesystem::path find_on_path(std::string_view name, std::string_view path);

struct ProgramCall {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // without the program's name
  std::map<std::string, std::string> environment;
  std::filesystem::path folder;
  Duration longest = std::chrono::minutes(1);
  std::function<bool()> wanted;                        // asked often; false ends the call
  std::function<void(std::string_view line)> on_line;  // of stderr and, unless kept, of stdout
  bool keep_output = false;                            // stdout is wanted as it is
};

struct ProgramEnd {
  int code = 0;  // 128 + signal when a signal ended it
  bool timed_out = false;
  bool unwanted = false;
  std::string output;      // of stdout, where it is kept: its first 64 MiB
  std::string last_lines;  // of the rest: a few KiB, for error messages
  bool good() const { return code == 0 && !timed_out && !unwanted; }
};

// Runs it to its end. When its time is over or it is not wanted any more, its process group gets SIGTERM and,
// a moment later, SIGKILL. An error: it could not be started.
Result<ProgramEnd> run_program(const ProgramCall& call);

}  // namespace slipway
