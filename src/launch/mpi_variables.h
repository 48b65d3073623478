// The variables by which the parts of the mpi launcher find each other. None of them reaches the job.
#pragma once

#include <string_view>

namespace slipway::launch {

constexpr std::string_view kMpiPeers = "SLIPWAY_MPI_PEERS";    // "slipway-1=10.0.0.2:4711,..."
constexpr std::string_view kMpiListen = "SLIPWAY_MPI_LISTEN";  // "10.0.0.2:4711"
constexpr std::string_view kMpiHost =
    "SLIPWAY_MPI_HOST";  // what the node is called, where several share a machine
constexpr std::string_view kMpiSecret = "SLIPWAY_MPI_SECRET";  // of the attempt
constexpr std::string_view kMpiFolder = "SLIPWAY_MPI_FOLDER";  // holds the FIFOs of the node's ranks
constexpr std::string_view kMpiWork = "SLIPWAY_MPI_WORK";      // the node's working folder

// The FIFO beside those of the node's ranks into which their parents write how each ended: "3 1792\n", the
// rank and its wait status.
constexpr std::string_view kMpiEnded = "ended";

}  // namespace slipway::launch
