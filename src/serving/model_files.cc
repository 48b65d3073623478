#include "serving/model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace slipway::serving {
namespace {

namespace fs = std::filesystem;

// A model in a folder that holds nothing else that could be one; deeper than this nobody means it.
constexpr int kMaxDescent = 4;

std::optional<ModelKind> kind_of_file(const fs::path& path) {
  const std::string ending = path.extension();
  if (ending == ".onnx") return ModelKind::kOnnx;
  if (ending == ".keras" || ending == ".h5" || ending == ".hdf5") return ModelKind::kKeras;
  if (ending == ".pt" || ending == ".pth" || ending == ".pt2" || ending == ".torchscript")
    return ModelKind::kTorch;
  if (ending == ".pkl" || ending == ".pickle" || ending == ".joblib") return ModelKind::kPickle;
  return std::nullopt;
}

bool is_saved_model(const fs::path& path) {
  return path.filename() == "saved_model.pb";
}

// The graph of a checkpoint of TensorFlow 1.
bool is_checkpoint(const fs::path& path) {
  return path.extension() == ".meta";
}

// Why a file cannot be served, and what to do about it.
Error unsupported(const fs::path& path) {
  const std::string ending = path.extension();
  Error error{.code = ErrorCode::kUnsupported,
              .message = fmt::format("{} is no kind of model that can be served", path.string()),
              .next =
                  "an .onnx file, a SavedModel, a Keras or PyTorch file, a .pkl or .joblib file and an entry "
                  "script (.py) can",
              .detail = ""};
  if (ending == ".bin" || ending == ".safetensors") {
    error.message = fmt::format("{} holds weights without their network", path.string());
    error.next =
        "export the model to ONNX: torch.onnx.export(model, sample, 'model.onnx', dynamic_axes={'x': {0: "
        "'rows'}})\n"
        "or load it in an entry script: slipway serve DIR --entry score.py";
  } else if (ending == ".index") {
    error.message = fmt::format("{} has variables without the graph that they belong to", path.string());
    error.next =
        "keep the .meta file that tf.train.Saver().save() writes, or export the model: "
        "model.export('digits')";
  }
  return error;
}

std::optional<uint64_t> version_number(const std::string& name) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

struct Listing {
  std::vector<fs::path> files;
  std::vector<fs::path> folders;
};

Result<Listing> list(const fs::path& folder) {
  Listing listing;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with('.')) continue;
    std::error_code gone;
    (entry.is_directory(gone) ? listing.folders : listing.files).push_back(entry.path());
  }
  if (error)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot read the folder {}: {}", folder.string(), error.message()));
  std::ranges::sort(listing.files);
  std::ranges::sort(listing.folders);
  return listing;
}

Result<ModelFiles> find_in(const fs::path& folder, int depth) {
  SLIPWAY_ASSIGN(const Listing listing, list(folder));
  if (std::ranges::any_of(listing.files, is_saved_model))
    return ModelFiles{.kind = ModelKind::kSavedModel, .path = folder, .name = "", .version = "1"};
  std::vector<ModelFiles> found;
  for (const fs::path& file : listing.files)
    if (const auto kind = kind_of_file(file))
      found.push_back({.kind = *kind, .path = file, .name = "", .version = "1"});
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("the folder {} has {} models, among them {} and {}", folder.string(), found.size(),
                    found[0].path.filename().string(), found[1].path.filename().string()),
        "name the file of the one to serve");
  if (std::ranges::any_of(listing.files, is_checkpoint))
    return ModelFiles{.kind = ModelKind::kCheckpoint, .path = folder, .name = "", .version = "1"};
  const fs::path* newest = nullptr;
  uint64_t largest = 0;
  for (const fs::path& child : listing.folders)
    if (const auto number = version_number(child.filename());
        number && (newest == nullptr || *number > largest)) {
      newest = &child;
      largest = *number;
    }
  if (newest == nullptr && listing.folders.size() == 1) newest = &listing.folders.front();
  if (newest == nullptr)
    for (const fs::path& file : listing.files)
      if (Error why = unsupported(file); !why.next.starts_with("an .onnx")) return fail(std::move(why));
  if (newest == nullptr || depth == kMaxDescent)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("there is no model in the folder {}", folder.string()),
                "name a folder with an .onnx, .keras, .h5, .pt, .pkl or .joblib file or a SavedModel, or the "
                "file itself");
  SLIPWAY_ASSIGN(ModelFiles model, find_in(*newest, depth + 1));
  if (version_number(newest->filename())) model.version = std::to_string(largest);
  return model;
}

std::string name_of(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  const fs::path last = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
  std::error_code gone;
  std::string name = fs::is_directory(whole, gone) ? last.string() : last.stem().string();
  return name.empty() ? "model" : name;
}

}  // namespace

Result<ModelFiles> any_model(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error))
    return fail(ErrorCode::kNotFound, fmt::format("there is no file or folder {}", path.string()),
                "name a model's file or its folder");
  return ModelFiles{.kind = ModelKind::kOther, .path = path, .name = name_of(path), .version = "1"};
}

Result<ModelFiles> find_model(const fs::path& path) {
  SLIPWAY_ASSIGN(ModelFiles model, any_model(path));
  std::error_code error;
  if (fs::is_directory(path, error)) {
    SLIPWAY_ASSIGN(model, find_in(path, 0));
  } else {
    const auto kind = kind_of_file(path);
    if (is_saved_model(path)) return find_model(fs::absolute(path).parent_path());
    if (path.extension() == ".py")
      return ModelFiles{
          .kind = ModelKind::kEntryScript, .path = path, .name = path.stem().string(), .version = "1"};
    if (!kind && !is_checkpoint(path)) return fail(unsupported(path));
    model = {.kind = kind.value_or(ModelKind::kCheckpoint), .path = path, .name = "", .version = "1"};
  }
  model.name = name_of(path);
  return model;
}

}  // namespace slipway::serving
