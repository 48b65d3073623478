// Whether a model serves: found out by loading it and asking it once, as a client would at /score.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "serving/load.h"

namespace slipway::serving {

struct TrialOptions {
  LoadOptions load;
  std::string sample;  // the body to ask with; empty: one row of zeros, where the model's shapes tell one
};

struct Trial {
  std::string runtime;
  json::value signature;     // {NAME: {"inputs": [{"name", "datatype", "shape"}], "outputs": [...]}}, by name
  json::value sample_input;  // null: nothing was asked, or it is too large to show
  json::value sample_output;  // null: as above
  std::string note;           // why zeros told nothing; empty otherwise
};

// The reason why it does not serve is the error. Zeros that a model cannot compute with are none, since it
// may well compute with others; a sample that the user gave is one.
Result<Trial> try_model(const TrialOptions& options);

// Cuts this process, which has one thread, and all it starts off from every network, where the system lets
// it: what a model's own code could reach is not to be found out by loading it. False: it does not.
bool leave_network();

// {"serves": true, "runtime", "signature", "sample_input", "sample_output"[, "note"]}
json::object to_json(const Trial& trial);

}  // namespace slipway::serving
