// TorchScript through libtorch, behind slipway_runtime.h. libtorch has no interface in C, and the one in C++
// changes with every release. So this file travels as text inside the program and is built where a model
// needs it, against the headers of the model's own torch (runtime_build.h). It keeps to C++14 and to what
// PyTorch 1.6 has; newer headers are asked for.
//
// What it says of a model, and how it calls it, is what torch_model.py says and does in a process of Python.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if __has_include(<c10/core/InferenceMode.h>)
#include <c10/core/InferenceMode.h>
using WithoutGradients = c10::InferenceMode;
#else
#include <ATen/core/grad_mode.h>
using WithoutGradients = at::NoGradGuard;
#endif
// Since when files keep what a network was traced with.
#if __has_include(<torch/csrc/jit/serialization/import_read.h>)
#include <torch/csrc/jit/serialization/import_read.h>
#define SLIPWAY_READS_EXAMPLES
#endif

#include "slipway_runtime.h"
#include "torch_graph.h"

namespace {

using Shape = std::vector<int64_t>;
using Named = std::vector<std::pair<std::string, at::Tensor>>;

// Keeps names and shapes in place for the C structs that point to them; deques do not move what they hold.
class Specs {
 public:
  void add(std::string name, int32_t type, const Shape* shape) {
    names_.push_back(std::move(name));
    shapes_.push_back(shape == nullptr ? Shape() : *shape);
    const int32_t rank = shape == nullptr ? -1 : static_cast<int32_t>(shape->size());
    specs_.push_back(SlipwayTensorSpec{names_.back().c_str(), type, rank, shapes_.back().data()});
  }
  size_t size() const { return specs_.size(); }
  const SlipwayTensorSpec* data() const { return specs_.data(); }
  const SlipwayTensorSpec& operator[](size_t index) const { return specs_[index]; }

 private:
  std::deque<std::string> names_;
  std::deque<Shape> shapes_;
  std::vector<SlipwayTensorSpec> specs_;
};

}  // namespace

struct SlipwayModel {
  torch::jit::Module module;
  Specs inputs;
  Specs outputs;
  SlipwaySignature signature{};
  bool alone = false;  // running it changes it: one run at a time
  std::mutex turn;
};

struct SlipwayResult {
  std::vector<at::Tensor> values;
  std::vector<SlipwayTensor> tensors;
};

namespace {

struct Kind {
  int32_t ours;
  at::ScalarType theirs;
};
const Kind kKinds[] = {
    {SLIPWAY_BOOL, at::kBool},   {SLIPWAY_UINT8, at::kByte}, {SLIPWAY_INT8, at::kChar},
    {SLIPWAY_INT16, at::kShort}, {SLIPWAY_INT32, at::kInt},  {SLIPWAY_INT64, at::kLong},
    {SLIPWAY_FP16, at::kHalf},   {SLIPWAY_FP32, at::kFloat}, {SLIPWAY_FP64, at::kDouble},
};

// 0: none of ours; such outputs are given as FP32.
int32_t ours(at::ScalarType type) {
  for (const Kind& kind : kKinds)
    if (kind.theirs == type) return kind.ours;
  return 0;
}

at::ScalarType theirs(int32_t type) {
  for (const Kind& kind : kKinds)
    if (kind.ours == type) return kind.theirs;
  throw std::runtime_error("a tensor has a type that PyTorch lacks");
}

void fail(SlipwayFailure* failure, int32_t code, const std::string& message) {
  failure->code = code;
  const size_t length = std::min(message.size(), sizeof failure->message - 1);
  std::memcpy(failure->message, message.data(), length);
  failure->message[length] = '\0';
}

// TorchScript says last what went wrong, after where; everything else says it first.
std::string cause_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(line);
    begin = end + 1;
  }
  if (lines.empty()) return "it does not say why";
  return lines.back().compare(0, 13, "RuntimeError:") == 0 ? lines.back() : lines.front();
}

// Nothing that is thrown leaves this file.
template <class Work>
auto guarded(SlipwayFailure* failure, int32_t code, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    fail(failure, SLIPWAY_FAILED_INTERNAL, "there is not enough memory");
  } catch (const c10::Error& error) {
    fail(failure, code, cause_of(error.what_without_backtrace()));
  } catch (const std::exception& error) {
    fail(failure, code, cause_of(error.what()));
  } catch (...) {
    fail(failure, code, "it does not say why");
  }
  return nullptr;
}

// Of a tuple or a list; none of anything else.
std::vector<c10::IValue> items_of(const c10::IValue& value) {
  std::vector<c10::IValue> items;
  if (value.isTuple())
    for (const c10::IValue& item : value.toTuple()->elements()) items.push_back(item);
  else if (value.isList())
    for (const c10::IValue& item : value.toListRef()) items.push_back(item);
  return items;
}

// What a network was traced with; only its kind and shape are there, no numbers.
struct Example {
  int32_t type;
  Shape shape;
};

std::vector<Example> traced_inputs(const std::string& path) {
  std::vector<Example> examples;
#ifdef SLIPWAY_READS_EXAMPLES
  caffe2::serialize::PyTorchStreamReader reader(path);
  if (!reader.hasRecord("traced_inputs.pkl")) return {};
  const c10::IValue kept =
      torch::jit::readArchiveAndTensors("traced_inputs", "", "", {}, {}, at::Device(at::kCPU), reader);
  if (!kept.isGenericDict()) return {};
  for (const auto& entry : kept.toGenericDict()) {
    if (!entry.key().isString() || entry.key().toStringRef() != "forward") continue;
    for (const c10::IValue& item : items_of(entry.value())) {
      if (!item.isTensor() || ours(item.toTensor().scalar_type()) == 0) return {};
      examples.push_back({ours(item.toTensor().scalar_type()), item.toTensor().sizes().vec()});
    }
  }
#else
  (void)path;
#endif
  return examples;
}

Named by_name(const c10::IValue& value) {
  Named named;
  const auto add = [&named](const std::string& name, const c10::IValue& item) {
    if (!item.isTensor())
      throw std::runtime_error("'" + name + "' of what the model computes is a " + item.tagKind() +
                               " and no tensor");
    named.emplace_back(name, item.toTensor());
  };
  const auto add_next = [&](const c10::IValue& item) { add("output_" + std::to_string(named.size()), item); };
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict())
      add(entry.key().isString() ? entry.key().toStringRef() : std::to_string(named.size()), entry.value());
  } else if (value.isTuple() || value.isList()) {
    for (const c10::IValue& item : items_of(value)) add_next(item);
  } else {
    add_next(value);
  }
  return named;
}

Named compute(SlipwayModel& model, const std::vector<at::Tensor>& inputs) {
  const WithoutGradients none;
  std::vector<c10::IValue> values(inputs.begin(), inputs.end());
  if (!model.alone) return by_name(model.module.forward(std::move(values)));
  const std::lock_guard<std::mutex> turn(model.turn);
  Named named = by_name(model.module.forward(std::move(values)));
  for (auto& item : named) item.second = item.second.clone();  // it may be what the next run changes
  return named;
}

std::vector<at::Tensor> ones(const std::vector<Example>& examples, int64_t rows) {
  std::vector<at::Tensor> made;
  for (const Example& example : examples) {
    Shape shape = example.shape;
    if (rows > 0 && !shape.empty()) shape[0] = rows;
    made.push_back(at::ones(shape, at::TensorOptions().dtype(theirs(example.type))));
  }
  return made;
}

// Whether it takes any number of rows, and rows do not depend on each other.
bool takes_any_rows(SlipwayModel& model, const std::vector<Example>& examples) {
  for (const Example& example : examples)
    if (example.shape.empty()) return false;
  try {
    const Named one = compute(model, ones(examples, 1));
    const Named three = compute(model, ones(examples, 3));
    for (size_t i = 0; i < one.size(); ++i) {
      const at::Tensor& a = one[i].second;
      const at::Tensor& b = three.at(i).second;
      if (a.dim() == 0 || b.dim() != a.dim() || b.size(0) != 3 || b.sizes().slice(1) != a.sizes().slice(1))
        return false;
      if (!a.allclose(b.narrow(0, 0, 1), 1e-05, 1e-08, true)) return false;
    }
    return true;
  } catch (const std::exception&) {  // the number of rows was built into it
    return false;
  }
}

// Inputs as traced, with their first dimension free where the network takes any number of rows.
void learn(SlipwayModel& model, const std::vector<std::string>& names, const std::vector<Example>& examples) {
  const Named traced = compute(model, ones(examples, 0));
  const bool free = takes_any_rows(model, examples);
  const auto freed = [free](Shape shape) {
    if (free) shape[0] = -1;
    return shape;
  };
  for (size_t i = 0; i < names.size(); ++i) {
    const Shape shape = freed(examples[i].shape);
    model.inputs.add(names[i], examples[i].type, &shape);
  }
  for (const auto& item : traced) {
    const Shape shape = freed(item.second.sizes().vec());
    const int32_t type = ours(item.second.scalar_type());
    model.outputs.add(item.first, type == 0 ? SLIPWAY_FP32 : type, &shape);
  }
}

// Of code without an example: any shape, and as many outputs as the code says that there are.
void describe(SlipwayModel& model, const std::vector<std::string>& names, const c10::FunctionSchema& schema,
              const torch::jit::Graph& graph) {
  const std::set<std::string> whole = whole_number_inputs(graph);
  for (const std::string& name : names)
    model.inputs.add(name, whole.count(name) > 0 ? SLIPWAY_INT64 : SLIPWAY_FP32, nullptr);
  const c10::TypePtr returned = schema.returns().at(0).type();
  size_t count = 1;
  if (returned->kind() == c10::TypeKind::TupleType)
    count = returned->containedTypes().size();
  else if (returned->kind() != c10::TypeKind::TensorType)
    throw std::runtime_error("forward() returns a " + returned->str() +
                             ", and how many tensors that is cannot be told");
  for (size_t i = 0; i < count; ++i) model.outputs.add("output_" + std::to_string(i), SLIPWAY_FP32, nullptr);
}

// Arguments that may be left out are.
std::vector<std::string> names_of_inputs(const c10::FunctionSchema& schema) {
  std::vector<std::string> names;
  for (size_t i = 1; i < schema.arguments().size(); ++i) {  // after the module itself
    const c10::Argument& argument = schema.arguments()[i];
    if (argument.default_value()) continue;
    if (argument.type()->kind() != c10::TypeKind::TensorType)
      throw std::runtime_error("forward() takes a " + argument.type()->str() + " '" + argument.name() +
                               "', and clients send tensors");
    names.push_back(argument.name());
  }
  return names;
}

SlipwayModel* load(const SlipwayLoad* order, SlipwayFailure* failure) {
  return guarded(failure, SLIPWAY_FAILED_MODEL, [order]() -> SlipwayModel* {
    at::set_num_threads(order->threads);
    auto model = std::make_unique<SlipwayModel>();
    model->module = torch::jit::load(order->path, at::Device(at::kCPU));
    model->module.eval();
    const torch::jit::Method forward = model->module.get_method("forward");
    const c10::FunctionSchema& schema = forward.function().getSchema();
    const std::vector<std::string> names = names_of_inputs(schema);
    const auto graph = whole_graph(forward);
    model->alone = changes_itself(*graph->block());
    const std::vector<Example> examples = traced_inputs(order->path);
    if (!examples.empty() && examples.size() == names.size())
      learn(*model, names, examples);
    else
      describe(*model, names, schema, *graph);
    model->signature =
        SlipwaySignature{"serving_default",    "tensorflow/serving/predict", model->inputs.data(),
                         model->inputs.size(), model->outputs.data(),        model->outputs.size()};
    return model.release();
  });
}

// A copy: the network may change its input, or give it back.
at::Tensor taken(const SlipwayTensor& input) {
  const at::IntArrayRef shape(input.shape, static_cast<size_t>(input.rank));
  at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(theirs(input.type)));
  if (input.bytes > 0) std::memcpy(tensor.data_ptr(), input.data, input.bytes);
  return tensor;
}

SlipwayResult* run(SlipwayModel* model, size_t, const SlipwayTensor* inputs, size_t count,
                   SlipwayFailure* failure) {
  return guarded(failure, SLIPWAY_FAILED_INVALID, [=]() -> SlipwayResult* {
    std::vector<at::Tensor> tensors;
    for (size_t i = 0; i < count; ++i) tensors.push_back(taken(inputs[i]));
    const Named computed = compute(*model, tensors);
    if (computed.size() != model->outputs.size()) {
      fail(failure, SLIPWAY_FAILED_INTERNAL, "it gave another number of outputs than it said");
      return nullptr;
    }
    auto result = std::make_unique<SlipwayResult>();
    result->values.reserve(computed.size());
    for (const auto& item : computed) {
      at::Tensor value = item.second.detach().to(at::kCPU);
      if (ours(value.scalar_type()) == 0) value = value.to(at::kFloat);
      result->values.push_back(value.contiguous());
      const at::Tensor& kept = result->values.back();
      result->tensors.push_back(SlipwayTensor{model->outputs[result->tensors.size()].name,
                                              ours(kept.scalar_type()), static_cast<int32_t>(kept.dim()),
                                              kept.sizes().data(), kept.data_ptr(),
                                              static_cast<size_t>(kept.numel()) * kept.itemsize()});
    }
    return result.release();
  });
}

const SlipwayRuntime kTable{
    SLIPWAY_RUNTIME_ABI,
    "libtorch",
    load,
    [](SlipwayModel* model) { delete model; },
    [](const SlipwayModel* model, size_t* count) {
      *count = 1;
      return &model->signature;
    },
    run,
    [](const SlipwayResult* result, size_t* count) {
      *count = result->tensors.size();
      return result->tensors.data();
    },
    [](SlipwayResult* result) { delete result; },
};

}  // namespace

extern "C" const SlipwayRuntime* slipway_runtime(uint32_t host_abi) {
  return host_abi == SLIPWAY_RUNTIME_ABI ? &kTable : nullptr;
}
