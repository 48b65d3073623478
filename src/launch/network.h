// Which network the libraries of a run with several processes use: the interface that has the node's
// address, by which the other nodes reach it. Left to themselves they guess, and where a machine has several
// they guess differently on each.
#pragma once

#include <map>
#include <string>

#include "protocol/job.h"

namespace slipway::launch {

struct NetworkPlace {
  std::string interface;  // "eth0"; empty: not known
  std::string subnet;     // "10.0.0.0/24"
};

// GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME, TP_SOCKET_IFNAME and, for mpi, the subnet and the transports of
// OpenMPI. None for a run of one process, or when the interface is not known. The job's own variables win
// over them.
std::map<std::string, std::string> network_variables(const Job& job, const NetworkPlace& place);

// What is in force, for the run's time line: each setting, and whether the job chose it. Settings of the job
// that begin with NCCL_, GLOO_, OMPI_MCA_, UCX_ or HOROVOD_ count too. Empty: there is none.
std::string network_sentence(const Job& job, const NetworkPlace& place);

}  // namespace slipway::launch
