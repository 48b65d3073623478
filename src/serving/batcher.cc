#include "serving/batcher.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

namespace slipway::serving {
namespace {

uint64_t nanoseconds(std::chrono::steady_clock::duration time) {
  return static_cast<uint64_t>(std::chrono::nanoseconds(time).count());
}

bool same_rows(const Job& a, const Job& b) {
  if (a.rows == 0 || b.rows == 0 || a.signature != b.signature) return false;
  for (size_t i = 0; i < a.inputs.size(); ++i)
    if (!std::ranges::equal(std::span(a.inputs[i].shape).subspan(1), std::span(b.inputs[i].shape).subspan(1)))
      return false;
  return true;
}

// Whether a run that failed for several jobs may go well for some of them.
bool may_go_well_alone(const Error& error) {
  return error.code != ErrorCode::kTimeout && error.code != ErrorCode::kUnavailable;
}

// The rows of one input of all jobs, one behind the other.
Elements join(const std::vector<Job>& group, size_t input) {
  size_t total = 0;
  for (const Job& job : group) total += job.inputs[input].elements.size();
  Elements joined(total);
  char* at = joined.data();
  for (const Job& job : group) {
    const Elements& part = job.inputs[input].elements;
    if (part.size() > 0) std::memcpy(at, part.data(), part.size());
    at += part.size();
  }
  return joined;
}

}  // namespace

Batcher::Batcher(Model& model, BatchLimits limits, size_t turns, Statistics& statistics)
    : model_(model), limits_(limits), statistics_(statistics), gathered_(turns) {
  for (unsigned i = 0; i < std::max(1U, model_.instances()); ++i)
    threads_.emplace_back([this] {
      ::pthread_setname_np(::pthread_self(), "model");
      work();
    });
}

Error Batcher::refusal() {
  return {.code = ErrorCode::kExhausted,
          .message = "more rows wait for the model than its queue holds",
          .next = "try again in a second, or raise --queue",
          .detail = ""};
}

Batcher::~Batcher() {
  stop();
}

void Batcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Batcher::runs_inline() const {
  return !model_.waits() && run_microseconds_.load(std::memory_order_relaxed) <= limits_.inline_time.count();
}

bool Batcher::admit(int64_t rows) {
  if (statistics_.queued_rows.fetch_add(rows) + rows <= limits_.queued_rows) return true;
  // One request that is larger than the whole queue may still run when nothing else waits.
  if (statistics_.queued_rows.load() == rows) return true;
  statistics_.queued_rows.fetch_sub(rows);
  return false;
}

void Batcher::submit(Job job, http::Turn& turn) {
  if (!runs_inline()) return submit(std::move(job));
  const int64_t rows = std::max<int64_t>(job.rows, 1);
  if (!admit(rows)) return job.done(fail(refusal()));
  auto& gathered = gathered_[turn.index()];
  const bool first = gathered.empty();
  gathered.push_back({.job = std::move(job), .work = {}, .rows = rows});
  if (first) turn.at_end([this, index = turn.index()] { flush(index); });
}

void Batcher::submit(Job job) {
  const int64_t rows = std::max<int64_t>(job.rows, 1);
  if (!admit(rows)) return job.done(fail(refusal()));
  queue({.job = std::move(job), .work = {}, .rows = rows});
}

bool Batcher::submit_work(std::move_only_function<void()> work) {
  if (!admit(1)) return false;
  queue({.job = {}, .work = std::move(work), .rows = 1});
  return true;
}

void Batcher::queue(Waiting waiting) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(waiting));
  }
  wake_.notify_one();
}

void Batcher::flush(size_t turn) {
  auto& gathered = gathered_[turn];
  while (!gathered.empty()) {
    if (!runs_inline()) {
      // The last run was a long one: the rest moves over.
      for (Waiting& waiting : gathered) queue(std::move(waiting));
      gathered.clear();
      return;
    }
    run_group(take_group(gathered));
  }
}

void Batcher::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    if (queue_.front().work) {
      Waiting waiting = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      statistics_.queued_rows.fetch_sub(waiting.rows);
      waiting.work();
    } else {
      std::vector<Job> group = take_group(queue_);
      lock.unlock();
      run_group(std::move(group));
    }
    lock.lock();
  }
}

std::vector<Job> Batcher::take_group(std::deque<Waiting>& from) const {
  std::vector<Job> group;
  int64_t rows = 0;
  for (auto at = from.begin(); at != from.end();) {
    const bool fits = group.empty() || (!at->work && rows + at->rows <= limits_.batch_rows &&
                                        same_rows(group.front(), at->job));
    if (!fits) {
      ++at;
      continue;
    }
    rows += at->rows;
    group.push_back(std::move(at->job));
    at = from.erase(at);
    // A request that is half a batch by itself gains less from company than joining its rows costs.
    if (2 * rows >= limits_.batch_rows || group.front().rows == 0) break;
  }
  return group;
}

void Batcher::run_group(std::vector<Job> group) {
  const Monotonic now = std::chrono::steady_clock::now();
  std::erase_if(group, [&](Job& job) {
    statistics_.queued_rows.fetch_sub(std::max<int64_t>(job.rows, 1));
    statistics_.queue_nanoseconds.fetch_add(nanoseconds(now - job.arrived), std::memory_order_relaxed);
    if (job.deadline > now) return false;
    job.done(fail(ErrorCode::kTimeout, "the request waited longer for the model than it may",
                  "try again when there is less load"));
    return true;
  });
  if (group.size() == 1) {
    run_alone(group.front());
  } else if (!group.empty()) {
    run_together(group);
  }
}

Result<std::unique_ptr<Outputs>> Batcher::run(size_t signature, std::span<const SlipwayTensor> inputs,
                                              Monotonic deadline, int64_t rows) {
  const Monotonic start = std::chrono::steady_clock::now();
  auto outputs = model_.run(signature, inputs, deadline);
  const auto took = std::chrono::steady_clock::now() - start;
  statistics_.runs.fetch_add(1, std::memory_order_relaxed);
  statistics_.rows.fetch_add(static_cast<uint64_t>(rows), std::memory_order_relaxed);
  statistics_.compute_nanoseconds.fetch_add(nanoseconds(took), std::memory_order_relaxed);
  const double before = run_microseconds_.load(std::memory_order_relaxed);
  const double now = Microseconds(took).count();
  // A long run is believed at once, a short one slowly: one slow request must not be followed by others.
  run_microseconds_.store(now > before ? (before + now) / 2 : before + (now - before) / 16,
                          std::memory_order_relaxed);
  return outputs;
}

void Batcher::run_alone(Job& job) {
  const Signature& signature = model_.signatures()[job.signature];
  std::vector<SlipwayTensor> inputs;
  inputs.reserve(job.inputs.size());
  for (size_t i = 0; i < job.inputs.size(); ++i)
    inputs.push_back(job.inputs[i].view(signature.inputs[i].name));
  const Monotonic start = std::chrono::steady_clock::now();
  auto outputs = run(job.signature, inputs, job.deadline, std::max<int64_t>(job.rows, 1));
  if (!outputs) return job.done(fail(std::move(outputs).error()));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  job.done(JobOutputs{.tensors = (*outputs)->tensors(), .compute_milliseconds = took.count()});
}

void Batcher::run_together(std::vector<Job>& group) {
  const Signature& signature = model_.signatures()[group.front().signature];
  int64_t rows = 0;
  Monotonic deadline = Monotonic::min();
  for (const Job& job : group) {
    rows += job.rows;
    deadline = std::max(deadline, job.deadline);
  }
  std::vector<Tensor> joined(signature.inputs.size());
  std::vector<SlipwayTensor> inputs;
  for (size_t i = 0; i < joined.size(); ++i) {
    const Tensor& first = group.front().inputs[i];
    joined[i].type = first.type;
    joined[i].shape = first.shape;
    joined[i].shape[0] = rows;
    joined[i].elements = join(group, i);
    inputs.push_back(joined[i].view(signature.inputs[i].name));
  }
  const Monotonic start = std::chrono::steady_clock::now();
  auto outputs = run(group.front().signature, inputs, deadline, rows);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  const auto has_all_rows = [&](const TensorView& tensor) {
    return !tensor.shape.empty() && tensor.shape[0] == rows;
  };
  if (!outputs && !may_go_well_alone(outputs.error())) {
    for (Job& job : group) job.done(fail(outputs.error()));
    return;
  }
  if (!outputs || !std::ranges::all_of((*outputs)->tensors(), has_all_rows)) {
    // One bad row fails the run for all, or the outputs are not by row after all: then each by itself.
    for (Job& job : group) run_alone(job);
    return;
  }
  int64_t first = 0;
  std::vector<Shape> shapes((*outputs)->tensors().size());
  std::vector<TensorView> parts(shapes.size());
  for (Job& job : group) {
    for (size_t i = 0; i < parts.size(); ++i)
      parts[i] = (*outputs)->tensors()[i].rows(first, job.rows, shapes[i]);
    first += job.rows;
    job.done(JobOutputs{.tensors = parts, .compute_milliseconds = took.count()});
  }
}

}  // namespace slipway::serving
