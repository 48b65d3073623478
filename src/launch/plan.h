// From an attempt's order to the processes on this node. Pure: all that the node contributes stands in
// LaunchSite. Which processes they are is the launcher's decision (launcher.h).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "launch/launcher.h"
#include "launch/network.h"
#include "launch/references.h"
#include "launch/spec.h"

namespace slipway::launch {

// Below the attempt's folder: NAME/VERSION/ with the files of each model.
constexpr std::string_view kModelsFolder = "models";

// Where the process will run.
struct LaunchSite {
  std::filesystem::path folder;                    // the attempt's, absolute
  std::string url;                                 // of the server
  std::map<std::string, std::string> environment;  // the agent's own
  std::string mark;                                // see SupervisorSpec::mark
  std::string path_prefix;                         // of the prepared environment: folders before PATH
  std::map<std::string, std::string> variables;    // of the prepared environment
  std::string program_folder = "";   // where this program is: behind PATH, so that jobs find `slipway log`
  std::string python_packages = "";  // Slipway's own: behind PYTHONPATH, so that jobs can import them
  std::vector<Overlay> overlays = {};
  std::optional<Root> root = {};
  DataPaths data = {};                 // where the run's inputs, outputs and models are
  std::vector<NodeOffer> offers = {};  // of all nodes, by rank, in a run of several processes
  std::string ca_file = "";            // whom its certificate is trusted by; empty: the system's store
  NetworkPlace network = {};           // where this node's address is
};

struct LaunchPlan {
  Launch launch;
  std::map<std::string, std::string> environment;  // of all processes
  std::filesystem::path work;
  std::filesystem::path socket;
};

// In-job variables win over the job's own only where they start with SLIPWAY_; of the agent's environment
// only PATH, HOME, LANG, USER and TMPDIR are passed on. kUnsupported for a launcher this program does not
// have, kInvalidArgument for a command that names data the run does not have.
Result<LaunchPlan> plan(const AttemptOrder& order, const LaunchSite& site);

// The plan with the order's bounds: what the supervisor is given.
Result<SupervisorSpec> supervisor_spec(const AttemptOrder& order, const LaunchSite& site);

// The in-job socket of the attempt in `folder`: run.sock there, or, where that path is too long for a Unix
// socket, a name made from it below /tmp/slipway-<uid>.
std::filesystem::path socket_path(const std::filesystem::path& folder);

}  // namespace slipway::launch
