// The few things that are asked of Slurm. Not thread-safe; every call has a deadline.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/engines/slurm/job.h"

namespace slipway::compute {

class SlurmGateway {
 public:
  virtual ~SlurmGateway() = default;
  // "22.05.8", once the controller has answered.
  virtual Result<std::string> version() = 0;
  // Of that partition; empty: of all.
  virtual Result<EngineNodes> nodes(const std::string& partition) = 0;
  // The job's number. kUnreachable: it was not sent. kInvalidArgument: such a job can never be.
  // kPermissionDenied: Slurm does not take it now. After any other error it may have been taken.
  virtual Result<int64_t> submit(const SlurmJobOrder& order) = 0;
  // Also when it has ended already.
  virtual Status cancel(int64_t job) = 0;
  // All of Slipway's jobs that Slurm remembers, by one query.
  virtual Result<std::vector<SlurmJob>> jobs() = 0;
  // nullopt: Slurm does not know it.
  virtual Result<std::optional<SlurmJob>> job(int64_t job) = 0;
};

// Over HTTP, by slurmrestd (v0.0.38). `endpoint` is checked already; the token is a JWT, empty on a Unix
// socket.
std::unique_ptr<SlurmGateway> make_rest_gateway(const std::string& endpoint, const std::string& user,
                                                Secret token);
// By sbatch, squeue, scancel and sinfo, found on the PATH of this process.
std::unique_ptr<SlurmGateway> make_command_gateway();

}  // namespace slipway::compute
