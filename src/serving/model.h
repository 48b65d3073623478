// A loaded model: what it takes and gives, and how to run it. Behind it stand a runtime in this process or
// worker processes; the rest of the server does not know which.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "serving/tensor.h"

namespace slipway::serving {

// What a run computed, in the order of the signature's outputs. The views are valid while it lives.
class Outputs {
 public:
  virtual ~Outputs() = default;
  const std::vector<TensorView>& tensors() const { return tensors_; }

 protected:
  std::vector<TensorView> tensors_;
};

// A request that the model's own code answers: the body as it came, the answer as it goes.
struct RawRequest {
  std::string method = "POST";
  std::string target;  // path and query
  std::vector<std::pair<std::string, std::string>> headers;
  std::string_view body;
};
struct RawAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

class Model {
 public:
  virtual ~Model() = default;

  virtual std::string_view runtime() const = 0;   // "onnxruntime"
  virtual std::string_view platform() const = 0;  // "onnx", as Open Inference's metadata names it
  // At least one, the one to use where a client names none first; none for a model that is its own code.
  virtual const std::vector<Signature>& signatures() const = 0;

  // Thread-safe. `inputs` in the order of the signature, checked against it. kInvalidArgument when the model
  // cannot compute with them, kTimeout when `deadline` passed (by runtimes that can tell), kUnavailable when
  // the process that computes is gone.
  virtual Result<std::unique_ptr<Outputs>> run(size_t signature, std::span<const SlipwayTensor> inputs,
                                               Monotonic deadline) = 0;

  // Whether `run` waits for another process: then it never runs on an I/O thread.
  virtual bool waits() const { return false; }
  // How many runs make sense at a time.
  virtual unsigned instances() const = 0;

  // Models that are their own code (entry scripts) take requests as they come instead. Thread-safe.
  virtual bool takes_raw() const { return false; }
  virtual Result<RawAnswer> invoke(const RawRequest&, Monotonic) {
    return fail(ErrorCode::kUnsupported, "this model takes tensors, not requests of any form");
  }
  // A JSON document that describes the body an entry script takes; empty: unknown.
  virtual std::string input_schema() const { return {}; }
  virtual std::string output_schema() const { return {}; }
};

}  // namespace slipway::serving
