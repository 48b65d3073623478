#include "serving/runtimes/torch_file.h"

#include <fmt/format.h>

#include "serving/runtimes/mapped_file.h"
#include "serving/runtimes/zip_directory.h"

namespace slipway::serving {
namespace {

// How files begin that torch.save() wrote before it made archives.
constexpr std::string_view kOldBegin("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19", 14);
constexpr size_t kLongestName = 200;

constexpr const char* kHowTo =
    "build the network, load the weights into it, and export it to ONNX: torch.onnx.export(model.eval(), "
    "sample, "
    "'model.onnx', input_names=['x'], dynamic_axes={'x': {0: 'rows'}})\n"
    "or as it is with its code: torch.jit.script(model.eval()).save('model.pt')\n"
    "or load it in an entry script: slipway serve DIR --entry score.py";

std::string line_of(std::string_view& rest) {
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos || end > kLongestName) return "";
  std::string line(rest.substr(0, end));
  for (char& letter : line)
    if (letter < ' ' || letter > '~') letter = '?';
  rest.remove_prefix(end + 1);
  return line;
}

// What the outermost object of a pickle is, by the step that makes it.
std::string describe(std::string_view pickle) {
  if (pickle.starts_with('\x80')) pickle.remove_prefix(std::min<size_t>(2, pickle.size()));  // the protocol
  if (pickle.starts_with('\x95')) pickle.remove_prefix(std::min<size_t>(9, pickle.size()));  // a frame
  if (pickle.starts_with('}')) return "it holds a dictionary, such as a checkpoint of a training";
  if (!pickle.starts_with('c')) return "it holds a pickled object";
  pickle.remove_prefix(1);
  const std::string module = line_of(pickle);
  const std::string name = line_of(pickle);
  if (module == "collections" && name == "OrderedDict")
    return "it holds weights (a state dict) without their network";
  return fmt::format("it holds a pickled {}.{}, whose code is not in the file", module, name);
}

// An entry's name without the folder that all of an archive's entries are in.
std::string_view inner_name(std::string_view name) {
  const size_t slash = name.find('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

}  // namespace

Result<TorchContent> inspect_torch(std::string_view file) {
  bool code = false;
  bool constants = false;
  bool exported = false;
  bool compiled = false;
  std::optional<ZipEntry> data;
  const Status read = visit_zip(file, [&](const ZipEntry& entry) {
    const std::string_view name = inner_name(entry.name);
    code = code || name.starts_with("code/");
    constants = constants || name == "constants.pkl";
    compiled = compiled || name.starts_with("data/aotinductor/");
    exported = exported || name.starts_with("models/") || name == "serialized_exported_program.json";
    if (name == "data.pkl") data = entry;
    return true;
  });
  std::string what;
  if (!read) {
    what = file.starts_with(kOldBegin) ? "it holds a pickled object"
                                       : "it is no PyTorch file, or not all of one";
  } else {
    if (compiled) return TorchContent::kCompiled;
    if (exported) return TorchContent::kExported;
    if (code && constants && data) return TorchContent::kScript;
    what = data ? describe(stored_content(file, *data)) : "it is an archive that PyTorch did not write";
  }
  return fail(ErrorCode::kUnsupported, what, kHowTo);
}

Result<TorchContent> inspect_torch_file(const std::string& path) {
  SLIPWAY_ASSIGN(const MappedFile file, MappedFile::open(path));
  auto content = inspect_torch(file.bytes());
  if (content) return content;
  return fail(content.error().code, fmt::format("{} cannot be served: {}", path, content.error().message),
              content.error().next);
}

}  // namespace slipway::serving
