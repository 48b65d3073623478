#include "serving/conversion/conversion.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "serving/conversion/convert_source.h"
#include "serving/conversion/converted_folder.h"
#include "serving/runtimes/child_process.h"

namespace slipway::serving {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kInterpreterTime{20};

// What the interpreter and the packages that take part in conversions are, without importing them.
constexpr const char* kVersions =
    "import os, re, sys\n"
    "wanted = re.compile('(tensorflow|keras|tf_keras|tf2onnx|skl2onnx|scikit_learn|onnx|numpy|h5py)', re.I)\n"
    "found = {name for path in sys.path if os.path.isdir(path) for name in os.listdir(path)\n"
    "         if name.endswith(('.dist-info', '.egg-info')) and wanted.match(name)}\n"
    "print(sys.version, sorted(found))\n";

Result<std::string> key_of(const Conversion& conversion, const std::string& python) {
  SLIPWAY_ASSIGN(const std::string versions, output_of({python, "-c", kVersions}, kInterpreterTime));
  SLIPWAY_ASSIGN(const Digest content, digest_of_files(conversion.source));
  Hasher hasher;
  for (const std::string& part :
       {std::string(kConvertSource), conversion.kind, conversion.signature, content.hex(), versions}) {
    hasher.update(part);
    hasher.update(std::string_view("\0", 1));
  }
  return hasher.finish().hex();
}

Status read_answer(const std::string& text, const Conversion& conversion, const std::string& python) {
  SLIPWAY_ASSIGN(const json::object answer, parse_json_object(text, "the converter's answer"));
  std::string missing;
  std::string failure;
  std::string next;
  JsonFields fields(answer, "the converter's answer");
  fields.optional("missing", missing);
  fields.optional("error", failure);
  fields.optional("next", next);
  SLIPWAY_TRY(fields.finish_lenient());
  if (!missing.empty())
    return fail(ErrorCode::kUnavailable,
                fmt::format("to convert {} takes the package {}, which the interpreter '{}' does not have",
                            conversion.source.string(), missing, python),
                fmt::format("pip install {}, or name its environment: --python DIR/bin/python", missing));
  if (!failure.empty())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} cannot be converted: {}", conversion.source.string(), failure), next);
  return {};
}

// Runs the converter with `aside` for its result and its temporary files.
Status run_converter(const Conversion& conversion, const ConversionPlace& place, const std::string& python,
                     const AsideFolder& aside) {
  ChildOptions options;
  options.argv = {python, "-c", kConvertSource,
                  json::serialize(json::object{{"kind", conversion.kind},
                                               {"path", fs::absolute(conversion.source).string()},
                                               {"signature", conversion.signature},
                                               {"out", aside.result().string()}})};
  // Without a graphics card: TensorFlow would take all of its memory from the one that serves.
  options.environment =
      environment_with({"TMPDIR=" + aside.scratch().string(), "TF_CPP_MIN_LOG_LEVEL=3",
                        "CUDA_VISIBLE_DEVICES=", "KERAS_BACKEND=tensorflow", "PYTHONUNBUFFERED=1"});
  options.folder = aside.scratch().string();
  options.memory_bytes = place.memory_bytes;
  options.places = place.places;
  if (options.places) options.places->write.push_back(aside.result().parent_path());
  const auto text = output_of(options, place.time);
  if (text) return read_answer(*text, conversion, python);
  if (text.error().code == ErrorCode::kTimeout)
    return fail(ErrorCode::kTimeout,
                fmt::format("to convert {} took longer than {} s", conversion.source.string(),
                            std::chrono::duration_cast<std::chrono::seconds>(place.time).count()));
  if (text.error().code == ErrorCode::kUnavailable) return fail(text.error());
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{} cannot be converted: {}", conversion.source.string(), text.error().message),
      "the lines above say more; the process may have met --worker-memory or the machine's own limit");
}

}  // namespace

Result<fs::path> convert(const Conversion& conversion, const ConversionPlace& place) {
  const std::string python = place.python.empty() ? "python3" : place.python;
  SLIPWAY_ASSIGN(const std::string key, key_of(conversion, python));
  ConvertedFolder folder(place.folder);
  SLIPWAY_ASSIGN(ConvertedFolder::Turn turn, folder.wait_for(key, place.time));
  if (turn.result) return *turn.result;
  const Monotonic start = std::chrono::steady_clock::now();
  log_info("serving.converting", {{"model", conversion.source.string()}, {"kind", conversion.kind}});
  SLIPWAY_TRY(run_converter(conversion, place, python, *turn.aside));
  SLIPWAY_ASSIGN(fs::path result, folder.keep(key, *turn.aside));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  log_info("serving.converted", {{"model", conversion.source.string()}, {"seconds", took.count()}});
  return result;
}

}  // namespace slipway::serving
