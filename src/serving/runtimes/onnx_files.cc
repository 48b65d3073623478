#include "serving/runtimes/onnx_files.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "serving/runtimes/mapped_file.h"
#include "serving/wire.h"

namespace slipway::serving {
namespace {

// Graphs stand in graphs (If, Loop); no real model comes near this depth.
constexpr int kMaxDepth = 64;

enum class Message { kModel, kGraph, kNode, kAttribute, kTensor, kSparseTensor, kFunction };

// A field of a message that leads to tensors, by its number in onnx.proto.
struct Step {
  Message from;
  uint32_t field;
  Message to;
};
constexpr Step kSteps[] = {
    {Message::kModel, 7, Message::kGraph},
    {Message::kModel, 25, Message::kFunction},
    {Message::kGraph, 1, Message::kNode},
    {Message::kGraph, 5, Message::kTensor},
    {Message::kGraph, 15, Message::kSparseTensor},
    {Message::kNode, 5, Message::kAttribute},
    {Message::kAttribute, 5, Message::kTensor},
    {Message::kAttribute, 6, Message::kGraph},
    {Message::kAttribute, 10, Message::kTensor},
    {Message::kAttribute, 11, Message::kGraph},
    {Message::kAttribute, 22, Message::kSparseTensor},
    {Message::kAttribute, 23, Message::kSparseTensor},
    {Message::kSparseTensor, 1, Message::kTensor},
    {Message::kSparseTensor, 2, Message::kTensor},
    {Message::kFunction, 7, Message::kNode},
    {Message::kFunction, 11, Message::kAttribute},
};
constexpr uint32_t kExternalData = 13;  // of a tensor: its key and value pairs

class Walk {
 public:
  explicit Walk(std::vector<std::string>& files) : files_(files) {}

  bool over(Message kind, std::string_view bytes, int depth) {
    if (depth > kMaxDepth) return false;
    WireReader reader(bytes);
    while (const auto field = reader.next()) {
      if (!field->delimited) continue;
      if (kind == Message::kTensor && field->number == kExternalData && !note_location(field->bytes))
        return false;
      for (const Step& step : kSteps)
        if (step.from == kind && step.field == field->number && !over(step.to, field->bytes, depth + 1))
          return false;
    }
    return !reader.broken();
  }

 private:
  bool note_location(std::string_view pair) {
    std::string_view key;
    std::string_view value;
    WireReader reader(pair);
    while (const auto field = reader.next()) {
      if (field->number == 1) key = field->bytes;
      if (field->number == 2) value = field->bytes;
    }
    if (key == "location" && (files_.empty() || files_.back() != value)) files_.emplace_back(value);
    return !reader.broken();
  }

  std::vector<std::string>& files_;
};

}  // namespace

Result<std::vector<std::string>> external_files(std::string_view model) {
  std::vector<std::string> files;
  if (model.empty() || !Walk(files).over(Message::kModel, model, 0))
    return fail(ErrorCode::kInvalidArgument, "it is not an ONNX model, or its end is missing",
                "export it again, or copy it again");
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());
  return files;
}

Status check_onnx_files(const std::string& path) {
  SLIPWAY_ASSIGN(const MappedFile file, MappedFile::open(path));
  auto files = external_files(file.bytes());
  if (!files) {
    Error error = std::move(files).error();
    error.message = fmt::format("{}: {}", path, error.message);
    return fail(std::move(error));
  }
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  const UniqueFd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const std::string& name : *files) {
    if (!is_clean_relative_path(name))
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("{} wants tensors from the file '{}', which is outside of its folder", path, name),
          "do not serve this model, or export it with its tensors beside it");
    if (auto opened = open_beneath(root.get(), name, O_RDONLY | O_CLOEXEC); !opened)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} has tensors in the file '{}', which is not there or is a link", path, name),
                  "put the file beside the model");
  }
  return {};
}

}  // namespace slipway::serving
