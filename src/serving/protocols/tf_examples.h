// TensorFlow Serving's classify and regress: requests are examples with named features, which the model takes
// as serialised tf.Example messages.
#pragma once

#include "serving/protocols/json_reader.h"
#include "serving/served_model.h"

namespace slipway::serving {

Result<Inference> read_classify(const ServedModel& served, const http::Request& request);
Result<Inference> read_regress(const ServedModel& served, const http::Request& request);

// A signature that takes serialised examples, on these; how the answer is written is left to the caller.
Result<Inference> infer_examples(const ServedModel& served, std::string_view signature_name,
                                 const std::vector<std::string>& examples);

// What a classification's signature has computed: `width` labels with scores for each example. Either may be
// absent.
struct Classification {
  const TensorView* classes = nullptr;
  const TensorView* scores = nullptr;
  size_t rows = 0;
  size_t width = 0;

  std::string_view label(size_t i) const;
  float score(size_t i) const;
};
// kInvalidArgument when the outputs are no classification, or no regression: a number for each example.
Result<Classification> classification_of(const JobOutputs& outputs);
Result<const TensorView*> regression_of(const JobOutputs& outputs);

// The bytes of a tf.Example's `feature` entries for the object at the reader: {"age": 3, "name": "x"}. Whole
// numbers become an int64_list, others a float_list, text and {"b64": ...} a bytes_list.
Result<std::string> read_features(JsonReader& reader);

}  // namespace slipway::serving
