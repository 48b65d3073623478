// One model with a name and a version, ready to answer: what all protocols work on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/router.h"
#include "serving/batcher.h"
#include "serving/model.h"
#include "serving/statistics.h"

namespace slipway::serving {

struct ServedModel {
  std::string name;
  std::string version;
  Model& model;
  Batcher& batcher;
  Statistics& statistics;
  std::chrono::milliseconds timeout{60'000};  // of one request
  uint64_t body_limit = 64 << 20;             // of one request, in bytes, also once it is uncompressed
  std::atomic<bool> ready = true;             // false while the server is stopping

  // Whether a path names it; an empty version is any. kNotFound says what there is.
  Status check(std::string_view name, std::string_view version) const;
  // kNotFound names the signatures there are; an empty name is the first.
  Result<size_t> find_signature(std::string_view name) const;
};

// A request read by its protocol: what to run, and how the answer is written.
struct Inference {
  size_t signature = 0;
  std::vector<Tensor> inputs;                                // in the signature's order
  std::function<http::Response(const JobOutputs&)> respond;  // may find the outputs unfit for its form
  std::optional<std::chrono::milliseconds> timeout;  // the client's own, when it is less than the server's
};

// What a protocol brings: how it reads a request, and the form of its errors.
struct Protocol {
  Result<Inference> (*read)(const ServedModel& served, const http::Request& request);
  http::Response (*refuse)(const Error& error);
};

// Reads, runs and answers. Large bodies are read on the model's threads instead of the I/O thread.
void infer(ServedModel& served, const Protocol& protocol, http::Request& request, http::Turn& turn,
           http::Answer answer);

// Puts named inputs into the signature's order; kInvalidArgument for one that is unknown, missing or unfit.
class InputSlots {
 public:
  explicit InputSlots(const Signature& signature)
      : signature_(signature), tensors_(signature.inputs.size()) {}

  // The place of an input; kInvalidArgument names those there are.
  Result<size_t> find(std::string_view name) const;
  Status put(size_t index, Tensor tensor);
  bool has(size_t index) const { return tensors_[index].has_value(); }
  Result<std::vector<Tensor>> take();

 private:
  const Signature& signature_;
  std::vector<std::optional<Tensor>> tensors_;
};

// One tensor with a row for each of them; they have equal shapes and types. `parts` is not empty.
Result<Tensor> stack(std::vector<Tensor> parts, const std::string& input);

}  // namespace slipway::serving
