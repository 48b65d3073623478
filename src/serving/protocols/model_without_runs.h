// A model for fuzz targets: one input of each kind that is read in a way of its own, and nothing that
// computes.
#pragma once

#include "serving/model.h"

namespace slipway::serving {

class ModelWithoutRuns final : public Model {
 public:
  ModelWithoutRuns() {
    Signature& signature = signatures_.emplace_back();
    signature.inputs = {{.name = "x", .type = DataType::kFp32, .shape = Shape{-1, 2}},
                        {.name = "t", .type = DataType::kBytes, .shape = std::nullopt},
                        {.name = "b", .type = DataType::kBool, .shape = Shape{-1}}};
    signature.outputs = {{.name = "y", .type = DataType::kFp32, .shape = Shape{-1}}};
  }
  std::string_view runtime() const override { return "none"; }
  std::string_view platform() const override { return "none"; }
  const std::vector<Signature>& signatures() const override { return signatures_; }
  unsigned instances() const override { return 1; }
  Result<std::unique_ptr<Outputs>> run(size_t, std::span<const SlipwayTensor>, Monotonic) override {
    return fail(ErrorCode::kUnsupported, "nothing is run here");
  }

 private:
  std::vector<Signature> signatures_;
};

}  // namespace slipway::serving
