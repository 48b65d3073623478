// A model that answers as another one does, by way of what that was converted to: the signatures of the
// original, computed by the other where there is a way, else by the original.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "serving/model.h"

namespace slipway::serving {

// How one signature of the original is computed by the only one of the other.
struct Detour {
  std::vector<size_t> inputs;   // for each input of the other: which of the signature's
  std::vector<size_t> outputs;  // for each output of the signature: which of the other's
};

// By names, else by order where there are as many; nullopt where that does not fit.
std::optional<Detour> find_detour(const Signature& wanted, const Signature& other);

// Numbers are given to the other in its types, and come back in those that the original says.
class StandIn final : public Model {
 public:
  // Takes every detour that can be found.
  StandIn(std::unique_ptr<Model> original, std::unique_ptr<Model> other);

  Model& original() { return *original_; }
  bool has_detour(size_t signature) const { return detours_[signature].has_value(); }
  void give_up_detour(size_t signature) { detours_[signature].reset(); }
  // The original alone, where this is of no use.
  std::unique_ptr<Model> take_original() { return std::move(original_); }
  // Ends an original that no signature needs. Neither of the above may be called afterwards.
  void settle();

  std::string_view runtime() const override { return other_->runtime(); }
  std::string_view platform() const override { return platform_; }
  const std::vector<Signature>& signatures() const override { return signatures_; }
  bool waits() const override { return original_ && original_->waits(); }
  unsigned instances() const override { return other_->instances(); }
  Result<std::unique_ptr<Outputs>> run(size_t signature, std::span<const SlipwayTensor> inputs,
                                       Monotonic deadline) override;

 private:
  const std::vector<Signature> signatures_;
  const std::string platform_;
  std::unique_ptr<Model> original_;
  std::unique_ptr<Model> other_;
  std::vector<std::optional<Detour>> detours_;
};

}  // namespace slipway::serving
