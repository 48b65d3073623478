#include "environments/curated.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "environments/line_text.h"

namespace slipway::environments {
namespace {

using Lines = std::vector<std::string>;

CuratedEnvironment make(std::string_view name, int version, std::string description,
                        std::string framework_version, std::string python, Lines pip) {
  CuratedEnvironment environment{.name = fmt::format("{}{}", kCuratedPrefix, name),
                                 .version = version,
                                 .description = std::move(description),
                                 .framework_version = std::move(framework_version),
                                 .definition = {}};
  environment.definition.python = std::move(python);
  environment.definition.pip = std::move(pip);
  // What code written for Azure imports is there too.
  environment.definition.pip.emplace_back("azureml-defaults");
  return environment;
}

// Old frameworks need the libraries of their time: what came later removed what they call.
std::vector<CuratedEnvironment> make_all() {
  return {
      make("base", 1, "Python and Slipway's own packages", "", "3.11", {}),
      make("horovod", 1, "Horovod 0.28 on TensorFlow 2.15 for CPUs, built on the node with its MPI", "0.28",
           "3.11", {"tensorflow-cpu==2.15.1", "horovod==0.28.1"}),
      make("onnx", 1, "ONNX, ONNX Runtime and the converter from scikit-learn", "1", "3.11",
           {"numpy", "onnx", "onnxruntime", "scikit-learn", "skl2onnx"}),
      make("pytorch", 1, "PyTorch 1.6 with torchvision", "1.6", "3.8",
           {"numpy<1.24", "pillow<10", "torch==1.6.0", "torchvision==0.7.0"}),
      make("pytorch", 2, "PyTorch 2 with torchvision, as PyPI has it (with CUDA)", "2.0", "3.11",
           {"numpy", "torch>=2.5,<3", "torchvision"}),
      make("scikit-learn", 1, "scikit-learn with NumPy, SciPy, pandas and Matplotlib", "1.0", "3.11",
           {"joblib", "matplotlib", "numpy", "pandas", "scikit-learn>=1.3", "scipy"}),
      make("tensorflow", 1, "TensorFlow 1.15 for CPUs", "1.15", "3.7",
           {"h5py<3", "numpy<1.19", "protobuf<3.21", "tensorflow-cpu==1.15.0"}),
      make("tensorflow", 2, "TensorFlow 2.3 for CPUs", "2.3", "3.8",
           {"numpy<1.19", "protobuf<3.21", "tensorflow-cpu==2.3.4"}),
      make("tensorflow", 3, "TensorFlow 2, newest, for CPUs", "2.21", "3.11",
           {"numpy", "tensorflow-cpu>=2.18,<3"}),
  };
}

// "2.3" is 2003: good enough to say which of two is nearer.
int rank_of(std::string_view version) {
  int major = 0;
  int minor = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), major);
  if (error != std::errc{}) return 0;
  if (const std::string_view rest(end, static_cast<size_t>(version.data() + version.size() - end));
      rest.size() > 1)
    std::from_chars(rest.data() + 1, rest.data() + rest.size(), minor);
  return std::clamp(major, 0, 1000) * 1000 + std::clamp(minor, 0, 999);
}

// The first word of "AzureML-TensorFlow-2.0-GPU" that begins with a digit.
std::string_view version_in(std::string_view name) {
  for (const std::string_view word : pieces_of(name, '-'))
    if (!word.empty() && word.front() >= '0' && word.front() <= '9') return word;
  return "";
}

std::string_view framework_in(const std::string& name) {
  struct Word {
    const char* part;
    const char* framework;
  };
  // Horovod before the frameworks it is built on.
  constexpr std::array kWords{Word{"horovod", "horovod"},
                              Word{"tensorflow", "tensorflow"},
                              Word{"pytorch", "pytorch"},
                              Word{"scikit-learn", "scikit-learn"},
                              Word{"sklearn", "scikit-learn"},
                              Word{"tutorial", "scikit-learn"},
                              Word{"onnx", "onnx"},
                              Word{"minimal", "base"}};
  for (const Word& word : kWords)
    if (name.find(word.part) != std::string::npos) return word.framework;
  return "";
}

}  // namespace

std::span<const CuratedEnvironment> curated_environments() {
  static const std::vector<CuratedEnvironment> all = make_all();
  return all;
}

Result<CuratedEnvironment> find_curated(const EnvironmentReference& reference) {
  const CuratedEnvironment* found = nullptr;
  std::string names;
  for (const CuratedEnvironment& environment : curated_environments()) {
    if (!names.ends_with(environment.name)) names += (names.empty() ? "" : ", ") + environment.name;
    if (environment.name != reference.name) continue;
    if (reference.version == 0 || environment.version == reference.version) found = &environment;
  }
  if (found == nullptr)
    return fail(ErrorCode::kNotFound,
                reference.version == 0
                    ? fmt::format("there is no environment '{}'", shown(reference.name))
                    : fmt::format("there is no version {} of '{}'", reference.version, shown(reference.name)),
                fmt::format("shipped are {}; slipway env versions NAME shows their versions", names));
  return *found;
}

bool is_reserved_name(std::string_view name) {
  const std::string lower = lowered(name);
  return lower.starts_with("azureml") || lower.starts_with("microsoft");
}

const CuratedEnvironment* nearest_curated(std::string_view reserved_name) {
  const std::string_view framework = framework_in(lowered(reserved_name));
  if (framework.empty()) return nullptr;
  const std::string_view version = version_in(reserved_name);
  const CuratedEnvironment* nearest = nullptr;
  for (const CuratedEnvironment& environment : curated_environments()) {
    if (environment.name.substr(kCuratedPrefix.size()) != framework) continue;
    const auto distance = [&](const CuratedEnvironment& one) {
      return std::abs(rank_of(one.framework_version) - rank_of(version));
    };
    // Without a version the newest, which comes last.
    if (nearest == nullptr || version.empty() || distance(environment) < distance(*nearest))
      nearest = &environment;
  }
  return nearest;
}

}  // namespace slipway::environments
