// Keeps the outputs of a job that is still running, beside the shipping of its journal. Not thread-safe: used
// by the attempt's thread.
#pragma once

#include <atomic>
#include <semaphore>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "node/agent_output_data.h"
#include "node/agent_outputs.h"

namespace slipway::node {

class RunningOutputs {
 public:
  // `uploads` bounds how many attempts do this at a time. All outlive this.
  RunningOutputs(OutputKeeper& keeper, DataOutputs& data, std::counting_semaphore<>& uploads, Duration every,
                 Duration settled)
      : keeper_(keeper),
        data_(data),
        uploads_(uploads),
        every_(every),
        settled_(settled),
        next_(std::chrono::steady_clock::now() + every) {}

  // Looks, when it is time to, whether files are due, and then sends them from another thread.
  void look();
  // A file is wanted at once: it is time to.
  void hurry() { hurried_ = true; }
  // Waits for what is on its way. Before the keeper is used otherwise.
  void join();

 private:
  OutputKeeper& keeper_;
  DataOutputs& data_;
  std::counting_semaphore<>& uploads_;
  const Duration every_;
  const Duration settled_;
  Monotonic next_;
  bool hurried_ = false;
  std::atomic<bool> busy_ = false;
  std::jthread thread_;
};

}  // namespace slipway::node
