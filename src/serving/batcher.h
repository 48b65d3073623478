// Runs requests on the model, several at a time where they have come together.
//
// Invariants
//   1. Nothing waits for company: a request is run with those that are there when the model is free for it.
//   2. A model whose runs are short runs on the I/O thread that read the requests, with no hand-over between
//      threads; one whose runs are long, or that waits for another process, runs on threads of its own.
//   3. What waits is bounded in rows; beyond it a request is refused at once (kExhausted). What has passed
//   its
//      deadline is answered with kTimeout and not run.
//   4. Only rows of the same signature with equal shapes behind the first dimension run together.
//   5. Each job's `done` is called exactly once, on the thread that ran it or refused it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "http/router.h"
#include "serving/model.h"
#include "serving/statistics.h"

namespace slipway::serving {

// What a run gave for one job: all of it, or some rows of what it shared with others. Valid during `done`.
struct JobOutputs {
  std::span<const TensorView> tensors;
  double compute_milliseconds = 0;
};

struct Job {
  size_t signature = 0;
  std::vector<Tensor> inputs;  // in the signature's order, checked against it
  int64_t rows = 0;            // 0: not to be run together with others
  Monotonic arrived;
  Monotonic deadline;
  std::move_only_function<void(Result<JobOutputs>)> done;  // must not throw
};

struct BatchLimits {
  int64_t batch_rows = 64;
  int64_t queued_rows = 8192;
  // A run that is expected to take no longer is done on the I/O thread.
  Microseconds inline_time{1000};
};

class Batcher {
 public:
  // The model and the statistics outlive it. `turns`: how many I/O threads there are.
  Batcher(Model& model, BatchLimits limits, size_t turns, Statistics& statistics);
  ~Batcher();

  // On an I/O thread.
  void submit(Job job, http::Turn& turn);
  // On any other thread, and for work of any kind that must not hold up an I/O thread.
  void submit(Job job);
  // Work that counts as one row. False: refused, and `work` is gone.
  bool submit_work(std::move_only_function<void()> work);

  // The error of whoever finds the queue full.
  static Error refusal();

  // How long a run took when the model was tried out.
  void expect(Microseconds run) { run_microseconds_ = run.count(); }

  const BatchLimits& limits() const { return limits_; }

  // Runs what waits, then ends the threads. Nothing may be submitted any more.
  void stop();

 private:
  struct Waiting {
    Job job;
    std::move_only_function<void()> work;  // instead of a job
    int64_t rows = 1;
  };

  bool runs_inline() const;
  bool admit(int64_t rows);
  void flush(size_t turn);
  void queue(Waiting waiting);
  void work();
  // Takes the first job and those that can run with it.
  std::vector<Job> take_group(std::deque<Waiting>& from) const;
  void run_group(std::vector<Job> group);
  void run_together(std::vector<Job>& group);
  void run_alone(Job& job);
  Result<std::unique_ptr<Outputs>> run(size_t signature, std::span<const SlipwayTensor> inputs,
                                       Monotonic deadline, int64_t rows);

  Model& model_;
  const BatchLimits limits_;
  Statistics& statistics_;
  std::vector<std::deque<Waiting>> gathered_;  // one for each turn, used on its thread alone
  std::atomic<double> run_microseconds_ = 0;   // how long runs take, smoothed

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Waiting> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace slipway::serving
