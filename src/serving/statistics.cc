#include "serving/statistics.h"

#include <fmt/format.h>

#include "serving/protocols/json_tensor.h"

namespace slipway::serving {
namespace {

constexpr double kFirstBound = 10;
constexpr double kGrowth = 1.8;

// Backslash, quote and line end are escaped in Prometheus' labels as in JSON.
std::string label(std::string_view name, std::string_view value) {
  std::string text(name);
  text += '=';
  append_json_text(text, value);
  return text;
}

void append_counter(std::string& out, std::string_view name, std::string_view type, std::string_view about,
                    std::string_view labels, double value) {
  out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0}{{{3}}} {4}\n", name, about, type, labels, value);
}

}  // namespace

void Histogram::add(Microseconds time) {
  double bound = kFirstBound;
  size_t bucket = 0;
  while (bucket < kBuckets && time.count() > bound) {
    bound *= kGrowth;
    ++bucket;
  }
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_nanoseconds_.fetch_add(static_cast<uint64_t>(time.count() * 1e3), std::memory_order_relaxed);
}

void Histogram::append_to(std::string& out, std::string_view name, std::string_view labels) const {
  double bound = kFirstBound;
  uint64_t count = 0;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket, bound *= kGrowth) {
    count += counts_[bucket].load(std::memory_order_relaxed);
    out += fmt::format("{}_bucket{{{},le=\"{:.6g}\"}} {}\n", name, labels, bound, count);
  }
  count += counts_[kBuckets].load(std::memory_order_relaxed);
  out += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n", name, labels, count);
  out += fmt::format("{}_sum{{{}}} {}\n", name, labels,
                     static_cast<double>(sum_nanoseconds_.load(std::memory_order_relaxed)) / 1e3);
  out += fmt::format("{}_count{{{}}} {}\n", name, labels, count);
}

std::string to_prometheus(const Statistics& statistics, std::string_view model, std::string_view version) {
  std::string out;
  const std::string labels = label("model", model) + "," + label("version", version);
  const auto counter = [&](std::string_view name, std::string_view about, uint64_t value, double scale = 1) {
    append_counter(out, name, "counter", about, labels, static_cast<double>(value) / scale);
  };
  counter("nv_inference_request_success", "Requests that were answered.", statistics.succeeded);
  counter("nv_inference_request_failure", "Requests that failed.", statistics.failed);
  counter("nv_inference_count", "Rows that were computed.", statistics.rows);
  counter("nv_inference_exec_count", "Runs of the model; a run takes the rows of several requests.",
          statistics.runs);
  counter("nv_inference_request_duration_us", "Time in requests, end to end.", statistics.request_nanoseconds,
          1e3);
  counter("nv_inference_queue_duration_us", "Time that requests waited for the model.",
          statistics.queue_nanoseconds, 1e3);
  counter("nv_inference_compute_infer_duration_us", "Time in the model.", statistics.compute_nanoseconds,
          1e3);
  append_counter(out, "nv_inference_pending_request_count", "gauge", "Requests in progress.", labels,
                 static_cast<double>(statistics.in_flight.load()));
  append_counter(out, "slipway_queued_rows", "gauge", "Rows that wait for the model.", labels,
                 static_cast<double>(statistics.queued_rows.load()));

  const std::string name = label("model_name", model);
  out +=
      "# HELP :tensorflow:serving:request_count Requests by their outcome.\n"
      "# TYPE :tensorflow:serving:request_count counter\n";
  out += fmt::format(":tensorflow:serving:request_count{{{},status=\"OK\"}} {}\n", name,
                     statistics.succeeded.load());
  out += fmt::format(":tensorflow:serving:request_count{{{},status=\"ERROR\"}} {}\n", name,
                     statistics.failed.load());
  out +=
      "# HELP :tensorflow:serving:request_latency Time of a request in microseconds.\n"
      "# TYPE :tensorflow:serving:request_latency histogram\n";
  statistics.latency.append_to(out, ":tensorflow:serving:request_latency", name);
  return out;
}

}  // namespace slipway::serving
