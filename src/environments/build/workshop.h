// What the builders of environments work with, and the interface they share.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/subprocess.h"
#include "environments/build/lock.h"
#include "environments/prepared.h"
#include "protocol/environment.h"

namespace slipway::environments {

// The variable that every program of a build carries, with the mark of its build as value: what a killed
// agent has left running is found by it.
constexpr std::string_view kBuildMarkVariable = "SLIPWAY_MARK";

// One build on one machine. Used by one thread.
struct Workshop {
  std::filesystem::path home;                    // absolute
  std::map<std::string, std::string> variables;  // of the agent: PATH, the user's settings of uv, pip, conda
  BuildLog log;
  std::function<bool()> wanted;  // false: the run was canceled, or its agent stops
  std::string mark;              // see kBuildMarkVariable; empty: none
  bool hard_links = true;  // false: nothing keeps jobs from changing what they share, so they share nothing

  std::filesystem::path environments() const { return home / "environments"; }
  std::filesystem::path cache() const { return environments() / "cache"; }
  std::filesystem::path tools() const { return home / "tools"; }
  std::string variable(const std::string& name) const;
  std::filesystem::path find(std::string_view program) const;  // on the agent's PATH; empty: it is not there

  // Runs a program of the build: its lines go into the log. kUnavailable when it was stopped because nobody
  // wants it any more, which is no failure of the build.
  Result<ProgramEnd> run(ProgramCall call) const;
};

// What a program said last, as one sentence for an error message: the resolver's own reason.
std::string reason_of(const ProgramEnd& end);
// The error of a build whose program ended badly: `what` it was to do, and why not. A full disk is told from
// the words of the program.
Error build_error(std::string_view what, const ProgramEnd& end);

// How one kind of environment is made. Stateless but for what it was made with; used by one thread.
class Builder {
 public:
  virtual ~Builder() = default;
  virtual std::string_view name() const = 0;
  // Settles on exact versions, with hashes where there are any.
  virtual Result<Lock> resolve(const EnvironmentDefinition& definition, Workshop& workshop) = 0;
  // Makes in `folder`, which is empty, what `lock` says. What fails may leave it half made: the caller
  // removes it.
  virtual Status build(const EnvironmentDefinition& definition, const Lock& lock,
                       const std::filesystem::path& folder, Workshop& workshop) = 0;
  // What a process needs to run in it.
  virtual Result<PreparedEnvironment> enter(const EnvironmentDefinition& definition, const Lock& lock,
                                            const std::filesystem::path& folder, Workshop& workshop) = 0;
};

// The one for a definition that has no lock yet, by what it needs and what the machine has.
Result<std::unique_ptr<Builder>> choose_builder(const EnvironmentDefinition& definition,
                                                const Workshop& workshop);
// The one that made a lock.
Result<std::unique_ptr<Builder>> builder_of(const Lock& lock);

}  // namespace slipway::environments
