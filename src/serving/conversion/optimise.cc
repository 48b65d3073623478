#include "serving/conversion/optimise.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "base/log.h"
#include "serving/conversion/numbers.h"
#include "serving/conversion/stand_in.h"
#include "serving/protocols/azure.h"

namespace slipway::serving {
namespace {

constexpr std::chrono::minutes kRunTime{5};
constexpr size_t kMaxElements = 1 << 22;
constexpr int64_t kRows = 16;
// Single precision on one side and double on the other differ by less; another network by more.
constexpr double kAbsolute = 1e-4;
constexpr double kRelative = 1e-3;

struct Sample {
  size_t signature = 0;
  std::vector<Tensor> inputs;
};

// The tensors that a body of /score stands for.
Result<Sample> read_sample(Model& model, const std::string& body) {
  Statistics statistics;
  Batcher batcher(model, {}, 1, statistics);
  const ServedModel served{
      .name = "model", .version = "1", .model = model, .batcher = batcher, .statistics = statistics};
  http::Request request;
  request.method = http::Method::kPost;
  request.path = "/score";
  request.body = body;
  auto inference = read_score(served, request);
  batcher.stop();
  if (!inference)
    return fail(inference.error().code, fmt::format("the sample does not fit: {}", inference.error().message),
                "--sample is a body of /score");
  return Sample{.signature = inference->signature, .inputs = std::move(inference->inputs)};
}

// Numbers as they come in data that was scaled; small ones where they count something.
std::optional<Tensor> random_tensor(const TensorSpec& spec, bool rows, std::mt19937& generator) {
  if (!spec.shape || spec.type == DataType::kBytes) return std::nullopt;
  Shape shape = *spec.shape;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] < 0) shape[i] = rows && i == 0 ? kRows : 1;
  const auto count = element_count(shape, kMaxElements);
  if (!count) return std::nullopt;
  std::normal_distribution<double> any;
  std::uniform_int_distribution<int> few(0, 1);
  std::vector<double> numbers(*count);
  for (double& number : numbers) number = is_floating(spec.type) ? any(generator) : few(generator);
  const TensorView view{.name = spec.name,
                        .type = DataType::kFp64,
                        .shape = shape,
                        .data = reinterpret_cast<const char*>(numbers.data()),
                        .bytes = numbers.size() * sizeof(double)};
  auto made = cast(view, spec.type);
  if (!made) return std::nullopt;
  return std::move(*made);
}

std::optional<std::vector<Tensor>> random_inputs(const Signature& signature) {
  std::mt19937 generator(1);
  std::vector<Tensor> inputs;
  for (const TensorSpec& spec : signature.inputs) {
    auto tensor = random_tensor(spec, signature.batchable, generator);
    if (!tensor) return std::nullopt;
    inputs.push_back(std::move(*tensor));
  }
  return inputs;
}

bool same_inputs(const Signature& one, const Signature& other) {
  return std::ranges::equal(one.inputs, other.inputs, [](const TensorSpec& a, const TensorSpec& b) {
    return a.name == b.name && a.type == b.type && a.shape == b.shape;
  });
}

bool same_number(double a, double b, bool exact) {
  if (exact || !std::isfinite(a) || !std::isfinite(b)) return a == b || (std::isnan(a) && std::isnan(b));
  return std::abs(a - b) <= kAbsolute + kRelative * std::abs(a);
}

bool same_tensor(const TensorView& a, const TensorView& b) {
  if (a.type != b.type || !std::ranges::equal(a.shape, b.shape)) return false;
  for (size_t i = 0; i < a.count(); ++i) {
    if (a.type == DataType::kBytes) {
      const SlipwayBytes& left = a.as<SlipwayBytes>()[i];
      const SlipwayBytes& right = b.as<SlipwayBytes>()[i];
      if (std::string_view(left.data, left.size) != std::string_view(right.data, right.size)) return false;
    } else if (!same_number(number_at(a, i), number_at(b, i), !is_floating(a.type))) {
      return false;
    }
  }
  return true;
}

// Why the two do not agree; empty: they do.
std::string difference(StandIn& model, size_t index, const std::vector<Tensor>& inputs) {
  const Signature& signature = model.signatures()[index];
  std::vector<SlipwayTensor> views;
  for (size_t i = 0; i < inputs.size(); ++i) views.push_back(inputs[i].view(signature.inputs[i].name));
  const Monotonic deadline = std::chrono::steady_clock::now() + kRunTime;
  const auto expected = model.original().run(index, views, deadline);
  if (!expected) return fmt::format("the model itself fails: {}", expected.error().message);
  const auto got = model.run(index, views, deadline);
  if (!got) return fmt::format("the ONNX model fails: {}", got.error().message);
  for (size_t i = 0; i < signature.outputs.size(); ++i)
    if (!same_tensor((*expected)->tensors()[i], (*got)->tensors()[i]))
      return fmt::format("'{}' differs", signature.outputs[i].name);
  return "";
}

// Keeps the detours that give the same answers.
void keep_what_agrees(StandIn& model, const std::optional<Sample>& sample) {
  for (size_t i = 0; i < model.signatures().size(); ++i) {
    if (!model.has_detour(i)) continue;
    const Signature& signature = model.signatures()[i];
    const bool fits = sample && same_inputs(model.signatures()[sample->signature], signature);
    const auto random = fits ? std::nullopt : random_inputs(signature);
    const std::string why = fits     ? difference(model, i, sample->inputs)
                            : random ? difference(model, i, *random)
                                     : "its shapes do not tell what to compare with; give --sample";
    if (!why.empty()) {
      model.give_up_detour(i);
      log_warning("serving.not_optimised", {{"signature", signature.name}, {"why", why}});
    } else {
      log_info("serving.optimised",
               {{"signature", signature.name}, {"compared_on", fits ? "the sample" : "random numbers"}});
    }
  }
}

}  // namespace

Result<std::unique_ptr<Model>> optimise(std::unique_ptr<Model> original, const Optimisation& optimisation) {
  std::optional<Sample> sample;
  if (!optimisation.sample.empty()) {
    SLIPWAY_ASSIGN(sample, read_sample(*original, optimisation.sample));
  }
  const auto converted = convert(optimisation.conversion, optimisation.place);
  auto onnx = converted ? optimisation.load(*converted / "model.onnx")
                        : Result<std::unique_ptr<Model>>(fail(converted.error()));
  if (!onnx && onnx.error().code == ErrorCode::kUnavailable) return fail(std::move(onnx).error());
  if (!onnx || (*onnx)->signatures().empty()) {
    log_warning("serving.not_optimised",
                {{"why", onnx ? "the ONNX model has no inputs and outputs" : onnx.error().message}});
    return original;
  }
  auto model = std::make_unique<StandIn>(std::move(original), std::move(*onnx));
  keep_what_agrees(*model, sample);
  if (!model->has_detour(0)) return model->take_original();
  model->settle();
  return model;
}

}  // namespace slipway::serving
