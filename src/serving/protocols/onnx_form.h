// The JSON form of ONNX Runtime's server, which Azure's services for ONNX models took:
// {"inputs": {NAME: {"dims": ["1", "784"], "dataType": 1, "rawData": "<base64>"}}, "outputFilter": [NAME]}
#pragma once

#include "serving/served_model.h"

namespace slipway::serving {

// Whether a body that begins with "inputs" has this form.
bool is_onnx_form(const std::string& body);
Result<Inference> read_onnx_form(const ServedModel& served, const std::string& body);

}  // namespace slipway::serving
