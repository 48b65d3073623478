#include "protocol/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/digest.h"
#include "base/ids.h"

namespace slipway {
namespace {

constexpr size_t kLongestName = 255;
constexpr size_t kMostModels = 32;

struct FrameworkWord {
  std::string_view text;
  ModelFramework framework;
};

// The first one of a framework is how it is written.
constexpr std::array kFrameworks{
    FrameworkWord{"custom", ModelFramework::kCustom},
    FrameworkWord{"tensorflow", ModelFramework::kTensorflow},
    FrameworkWord{"keras", ModelFramework::kKeras},
    FrameworkWord{"onnx", ModelFramework::kOnnx},
    FrameworkWord{"pytorch", ModelFramework::kPytorch},
    FrameworkWord{"scikit-learn", ModelFramework::kScikitLearn},
    FrameworkWord{"scikitlearn", ModelFramework::kScikitLearn},
    FrameworkWord{"sklearn", ModelFramework::kScikitLearn},
    FrameworkWord{"tfkeras", ModelFramework::kKeras},
    FrameworkWord{"multi", ModelFramework::kCustom},
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

}  // namespace

Status check_model_name(std::string_view name) {
  return check_name(name, "model", kLongestName);
}

Result<ModelReference> parse_model_reference(std::string_view text) {
  const size_t colon = text.find(':');
  ModelReference reference{.name = std::string(text.substr(0, colon)), .version = 0};
  SLIPWAY_TRY(check_model_name(reference.name));
  if (colon == std::string_view::npos) return reference;
  const std::string_view version = text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(version.data(), version.data() + version.size(), reference.version);
  if (error != std::errc{} || end != version.data() + version.size() || reference.version < 1)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' names no version of the model '{}'", version.substr(0, 32), reference.name),
                "write NAME:VERSION with a version from 1, or NAME alone for the newest");
  return reference;
}

std::string to_text(const ModelReference& reference) {
  return reference.version == 0 ? reference.name : fmt::format("{}:{}", reference.name, reference.version);
}

std::string_view to_text(ModelFramework framework) {
  return std::ranges::find(kFrameworks, framework, &FrameworkWord::framework)->text;
}

Result<ModelFramework> model_framework_from_text(std::string_view text) {
  const auto* const found = std::ranges::find(kFrameworks, lower(text.substr(0, 32)), &FrameworkWord::text);
  if (found != kFrameworks.end()) return found->framework;
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no framework known here", text.substr(0, 32)),
              "use tensorflow, keras, onnx, pytorch, scikit-learn or custom");
}

std::string_view curated_environment_of(ModelFramework framework) {
  switch (framework) {
    case ModelFramework::kTensorflow:
    case ModelFramework::kKeras: return "curated/tensorflow";
    case ModelFramework::kOnnx: return "curated/onnx";
    case ModelFramework::kPytorch: return "curated/pytorch";
    case ModelFramework::kScikitLearn: return "curated/scikit-learn";
    case ModelFramework::kCustom: break;
  }
  return "";
}

json::object to_json(const ModelOrder& order) {
  return {{"name", order.name},         {"version", order.version},
          {"manifest", order.manifest}, {"framework", to_text(order.framework)},
          {"files", order.files},       {"bytes", order.bytes}};
}

Result<ModelOrder> model_order_from_json(const json::object& object) {
  ModelOrder order;
  std::string framework(to_text(order.framework));
  JsonFields fields(object, "a model of the order");
  fields.required("name", order.name);
  fields.required("version", order.version);
  fields.required("manifest", order.manifest);
  fields.optional("framework", framework);
  fields.optional("files", order.files);
  fields.optional("bytes", order.bytes);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_TRY(check_model_name(order.name));
  SLIPWAY_TRY(Digest::parse(order.manifest));
  if (order.version < 1) return fail(ErrorCode::kInvalidArgument, "versions of models are counted from 1");
  SLIPWAY_ASSIGN(order.framework, model_framework_from_text(framework));
  return order;
}

Status check_job_models(const std::vector<std::string>& models) {
  if (models.size() > kMostModels)
    return fail(ErrorCode::kInvalidArgument, fmt::format("the job names more than {} models", kMostModels));
  for (const std::string& model : models) SLIPWAY_TRY(parse_model_reference(model));
  return {};
}

}  // namespace slipway
