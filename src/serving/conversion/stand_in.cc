#include "serving/conversion/stand_in.h"

#include <algorithm>
#include <deque>

#include "serving/conversion/numbers.h"

namespace slipway::serving {
namespace {

std::optional<std::vector<size_t>> match(const std::vector<TensorSpec>& wanted,
                                         const std::vector<TensorSpec>& there) {
  std::vector<size_t> places;
  for (const TensorSpec& spec : wanted) {
    const auto found = std::ranges::find(there, spec.name, &TensorSpec::name);
    if (found == there.end()) break;
    places.push_back(static_cast<size_t>(found - there.begin()));
  }
  if (places.size() == wanted.size()) return places;
  if (wanted.size() != there.size()) return std::nullopt;
  places.clear();
  for (size_t i = 0; i < wanted.size(); ++i) places.push_back(i);
  return places;
}

// Outputs of the other model in the order and the types of the original's signature.
class DetourOutputs final : public Outputs {
 public:
  static Result<std::unique_ptr<Outputs>> make(std::unique_ptr<Outputs> inner, const Detour& detour,
                                               const Signature& signature) {
    auto outputs = std::make_unique<DetourOutputs>();
    outputs->inner_ = std::move(inner);
    for (size_t i = 0; i < detour.outputs.size(); ++i) {
      SLIPWAY_TRY(outputs->add(outputs->inner_->tensors()[detour.outputs[i]], signature.outputs[i]));
    }
    return outputs;
  }

 private:
  Status add(TensorView view, const TensorSpec& spec) {
    view.name = spec.name;
    // A column where the original has a list of numbers.
    if (spec.shape && view.shape.size() == spec.shape->size() + 1 && view.shape.back() == 1)
      view.shape = view.shape.first(view.shape.size() - 1);
    if (view.type != spec.type) {
      SLIPWAY_ASSIGN(Tensor made, cast(view, spec.type));
      const Tensor& kept = cast_.emplace_back(std::move(made));
      view.type = kept.type;
      view.shape = kept.shape;
      view.data = kept.elements.data();
      view.bytes = kept.elements.size();
    }
    tensors_.push_back(view);
    return {};
  }

  std::unique_ptr<Outputs> inner_;
  std::deque<Tensor> cast_;  // a deque does not move what it holds
};

}  // namespace

std::optional<Detour> find_detour(const Signature& wanted, const Signature& other) {
  auto inputs = match(other.inputs, wanted.inputs);
  if (!inputs) return std::nullopt;
  // scikit-learn's two signatures are two outputs of one.
  if (wanted.name == "predict" || wanted.name == "predict_proba") {
    const size_t place = wanted.name == "predict" ? 0 : 1;
    if (place >= other.outputs.size()) return std::nullopt;
    return Detour{.inputs = std::move(*inputs), .outputs = {place}};
  }
  auto outputs = match(wanted.outputs, other.outputs);
  if (!outputs) return std::nullopt;
  return Detour{.inputs = std::move(*inputs), .outputs = std::move(*outputs)};
}

StandIn::StandIn(std::unique_ptr<Model> original, std::unique_ptr<Model> other)
    : signatures_(original->signatures()),
      platform_(original->platform()),
      original_(std::move(original)),
      other_(std::move(other)) {
  for (const Signature& signature : signatures_)
    detours_.push_back(find_detour(signature, other_->signatures().front()));
}

void StandIn::settle() {
  if (std::ranges::all_of(detours_, [](const auto& detour) { return detour.has_value(); })) original_.reset();
}

Result<std::unique_ptr<Outputs>> StandIn::run(size_t signature, std::span<const SlipwayTensor> inputs,
                                              Monotonic deadline) {
  const auto& detour = detours_[signature];
  if (!detour) return original_->run(signature, inputs, deadline);
  const Signature& way = other_->signatures().front();
  std::deque<Tensor> cast_inputs;
  std::vector<SlipwayTensor> given;
  for (size_t i = 0; i < detour->inputs.size(); ++i) {
    SlipwayTensor tensor = inputs[detour->inputs[i]];
    tensor.name = way.inputs[i].name.c_str();
    if (tensor.type != static_cast<int32_t>(way.inputs[i].type)) {
      SLIPWAY_ASSIGN(Tensor made, cast(view_of(tensor), way.inputs[i].type));
      tensor = cast_inputs.emplace_back(std::move(made)).view(way.inputs[i].name);
    }
    given.push_back(tensor);
  }
  SLIPWAY_ASSIGN(std::unique_ptr<Outputs> outputs, other_->run(0, given, deadline));
  return DetourOutputs::make(std::move(outputs), *detour, signatures_[signature]);
}

}  // namespace slipway::serving
