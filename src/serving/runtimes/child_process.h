// A program started with an argument array, never a shell. Killed and reaped on destruction at the latest.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "serving/confinement.h"

namespace slipway::serving {

struct ChildOptions {
  std::vector<std::string> argv;         // argv[0] is looked for in PATH unless it has a slash
  std::vector<std::string> environment;  // "NAME=value", all of it
  std::string folder;                    // to start in; empty: this one
  int stdout_fd = -1;                    // its standard output; -1: our standard error
  int socket_fd = -1;                    // becomes its descriptor 3; -1: none
  uint64_t memory_bytes = 0;             // of its data; 0: no limit
  // What it may touch; nullopt: whatever this process may.
  std::optional<Places> places = std::nullopt;
};

class ChildProcess {
 public:
  // The child dies with the thread that starts it (PR_SET_PDEATHSIG), however that ends: start it from one
  // that lives as long as the child may. It gets a session of its own and no descriptor but those named.
  static Result<ChildProcess> start(const ChildOptions& options);

  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess() { kill(); }

  pid_t pid() const { return pid_; }
  // SIGKILL to it and to what it started in its session's group, and reaps it.
  void kill();
  // How it ended: "exit code 1", "signal 9"; nullopt while it runs.
  std::optional<std::string> ended();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
};

// Whether there is a program of this name in PATH, or at this path.
bool is_program(const std::string& name);

// This process's environment, with `changes` ("NAME=value") in place of or besides what is there.
std::vector<std::string> environment_with(const std::vector<std::string>& changes);

// Runs a program to its end and gives what it wrote to its standard output. Its standard error is ours.
// kUnavailable when it cannot be started, kTimeout, kInternal with its exit status.
Result<std::string> output_of(const std::vector<std::string>& argv, std::chrono::milliseconds timeout);
// The same with more said about it; its standard output is taken whatever `options` says.
Result<std::string> output_of(ChildOptions options, std::chrono::milliseconds timeout);

}  // namespace slipway::serving
