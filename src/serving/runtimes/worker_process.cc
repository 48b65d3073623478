#include "serving/runtimes/worker_process.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>

#include "serving/runtimes/worker_source.h"

namespace slipway::serving {

Result<WorkerProcess> WorkerProcess::start(const WorkerOrder& order) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(errno_error(errno, "make a socket"));
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const std::string threads = std::to_string(order.threads);
  ChildOptions options;
  json::object told{{"kind", order.kind}, {"path", order.path}, {"entry", order.entry}};
  if (!order.code.empty()) told["code"] = order.code;
  options.argv = {order.python.empty() ? "python3" : order.python, "-c", kWorkerSource,
                  json::serialize(told)};
  options.environment =
      environment_with({"PYTHONUNBUFFERED=1", "OMP_NUM_THREADS=" + threads, "OPENBLAS_NUM_THREADS=" + threads,
                        "MKL_NUM_THREADS=" + threads, "AZUREML_MODEL_DIR=" + order.model_dir,
                        "AZUREML_ENTRY_SCRIPT=" + order.entry});
  options.socket_fd = theirs.get();
  options.memory_bytes = order.memory_bytes;
  options.places = order.places;
  SLIPWAY_ASSIGN(ChildProcess process, ChildProcess::start(options));
  return WorkerProcess{.process = std::move(process), .link = WorkerLink(std::move(ours))};
}

}  // namespace slipway::serving
