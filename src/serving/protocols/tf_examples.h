// TensorFlow Serving's classify and regress: requests are examples with named features, which the model takes
// as serialised tf.Example messages.
#pragma once

#include "serving/protocols/json_reader.h"
#include "serving/served_model.h"

namespace slipway::serving {

Result<Inference> read_classify(const ServedModel& served, const http::Request& request);
Result<Inference> read_regress(const ServedModel& served, const http::Request& request);

// The bytes of a tf.Example's `feature` entries for the object at the reader: {"age": 3, "name": "x"}. Whole
// numbers become an int64_list, others a float_list, text and {"b64": ...} a bytes_list.
Result<std::string> read_features(JsonReader& reader);

}  // namespace slipway::serving
