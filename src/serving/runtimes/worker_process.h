// One worker process and the socket to it.
#pragma once

#include <string>

#include "serving/runtimes/child_process.h"
#include "serving/runtimes/worker_link.h"
#include "serving/runtimes/worker_model.h"

namespace slipway::serving {

struct WorkerProcess {
  ChildProcess process;
  WorkerLink link;

  // Returns at once; the first frame says what the model is. It dies with the calling thread.
  static Result<WorkerProcess> start(const WorkerOrder& order);
};

}  // namespace slipway::serving
