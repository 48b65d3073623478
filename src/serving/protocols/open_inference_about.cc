#include "serving/protocols/open_inference_about.h"

namespace slipway::serving::open_inference {
namespace {

json::array described(const std::vector<TensorSpec>& specs) {
  json::array all;
  for (const TensorSpec& spec : specs) {
    json::array shape;
    if (spec.shape)
      for (const int64_t size : *spec.shape) shape.emplace_back(size);
    all.push_back(
        json::object{{"name", spec.name}, {"datatype", to_text(spec.type)}, {"shape", std::move(shape)}});
  }
  return all;
}

json::object times(uint64_t count, uint64_t nanoseconds) {
  return {{"count", count}, {"ns", nanoseconds}};
}

}  // namespace

json::object metadata(const ServedModel& served) {
  json::object about{{"name", served.name},
                     {"versions", json::array{served.version}},
                     {"platform", served.model.platform()},
                     {"inputs", json::array()},
                     {"outputs", json::array()}};
  if (!served.model.signatures().empty()) {
    about["inputs"] = described(served.model.signatures().front().inputs);
    about["outputs"] = described(served.model.signatures().front().outputs);
  }
  return about;
}

json::object config(const ServedModel& served) {
  json::object about = metadata(served);
  const bool batchable = !served.model.signatures().empty() && served.model.signatures().front().batchable;
  return {{"name", served.name},
          {"platform", served.model.platform()},
          {"backend", served.model.runtime()},
          {"max_batch_size", batchable ? served.batcher.limits().batch_rows : 0},
          {"input", about["inputs"]},
          {"output", about["outputs"]}};
}

json::object statistics(const ServedModel& served) {
  const Statistics& counted = served.statistics;
  const uint64_t succeeded = counted.succeeded;
  return {{"model_stats",
           json::array{json::object{
               {"name", served.name},
               {"version", served.version},
               {"inference_count", counted.rows.load()},
               {"execution_count", counted.runs.load()},
               {"inference_stats",
                json::object{{"success", times(succeeded, counted.request_nanoseconds)},
                             {"fail", times(counted.failed, 0)},
                             {"queue", times(succeeded, counted.queue_nanoseconds)},
                             {"compute_infer", times(succeeded, counted.compute_nanoseconds)}}}}}}};
}

json::object readiness(const ServedModel& served) {
  return {{"name", served.name}, {"ready", served.ready.load()}};
}

json::object health(const ServedModel& served) {
  return {{"live", true}, {"ready", served.ready.load()}};
}

json::array repository_index(const ServedModel& served) {
  return {json::object{{"name", served.name},
                       {"version", served.version},
                       {"state", served.ready ? "READY" : "UNAVAILABLE"},
                       {"reason", ""}}};
}

}  // namespace slipway::serving::open_inference
