#include "environments/conda_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "environments/conda_spec.h"
#include "environments/line_text.h"

namespace slipway::environments {
namespace {

constexpr std::string_view kInWheels = "the wheels on PyPI carry what they need of it";
constexpr std::string_view kOnMachine = "the machine's own is used";
constexpr std::string_view kNotPython = "it is no Python package";

// In the order of the conda name; an entry with '*' stands behind those it would cover.
constexpr CondaName kNames[] = {
    {"_libgcc_mutex", "", kInWheels, false},
    {"_openmp_mutex", "", kInWheels, false},
    {"blas", "", kInWheels, false},
    {"blosc", "", kInWheels, false},
    {"bzip2", "", kInWheels, false},
    {"ca-certificates", "", kOnMachine, false},
    {"cudatoolkit", "", kInWheels, false},
    {"cudnn", "", kInWheels, false},
    {"cupti", "", kInWheels, false},
    {"cxx-compiler", "", kOnMachine, false},
    {"dask-core", "dask", ""},
    {"ffmpeg", "", kNotPython},
    {"faiss", "faiss-cpu", ""},
    {"gcc", "", kOnMachine, false},
    {"gcc_linux-64", "", kOnMachine, false},
    {"git", "", kOnMachine, false},
    {"google-cloud-sdk", "", kNotPython},
    {"graphviz", "", kNotPython},
    {"gxx_linux-64", "", kOnMachine, false},
    {"intel-openmp", "", kInWheels, false},
    {"jpeg", "", kInWheels, false},
    {"keras-gpu", "keras", ""},
    {"ld_impl_linux-64", "", kOnMachine, false},
    {"libffi", "", kInWheels, false},
    {"libgcc-ng", "", kInWheels, false},
    {"libpng", "", kInWheels, false},
    {"libstdcxx-ng", "", kInWheels, false},
    {"make", "", kOnMachine, false},
    {"matplotlib-base", "matplotlib", ""},
    {"mkl", "", kInWheels, false},
    {"mkl-service", "", kInWheels, false},
    {"mkl_fft", "", kInWheels, false},
    {"mkl_random", "", kInWheels, false},
    {"msgpack-python", "msgpack", ""},
    {"nccl", "", kInWheels, false},
    {"ncurses", "", kInWheels, false},
    {"nodejs", "", kNotPython},
    {"nomkl", "", kInWheels, false},
    {"numpy-base", "numpy", ""},
    {"openblas", "", kInWheels, false},
    {"opencv", "opencv-python-headless", ""},
    {"openjdk", "", kNotPython},
    {"openmpi", "", kOnMachine, false},
    {"openssl", "", kInWheels, false},
    {"pillow-simd", "pillow", ""},
    {"psycopg2", "psycopg2-binary", ""},
    {"py-boost", "", kNotPython},
    {"py-lightgbm", "lightgbm", ""},
    {"py-opencv", "opencv-python-headless", ""},
    {"py-xgboost", "xgboost", ""},
    {"py-xgboost-cpu", "xgboost", ""},
    {"py-xgboost-gpu", "xgboost", ""},
    {"pyqt", "pyqt5", ""},
    {"pytables", "tables", ""},
    {"python-flatbuffers", "flatbuffers", ""},
    {"python-graphviz", "graphviz", ""},
    {"python-lmdb", "lmdb", ""},
    {"python_abi", "", kInWheels, false},
    {"pytorch", "torch", ""},
    {"pytorch-cpu", "torch", ""},
    {"pytorch-cuda", "", kInWheels, false},
    {"pytorch-gpu", "torch", ""},
    {"pytorch-mutex", "", kInWheels, false},
    {"r-*", "", kNotPython},
    {"readline", "", kInWheels, false},
    {"ruamel_yaml", "ruamel.yaml", ""},
    {"seaborn-base", "seaborn", ""},
    {"sentencepiece-python", "sentencepiece", ""},
    {"snappy", "", kInWheels, false},
    {"sqlite", "", kInWheels, false},
    {"tbb", "", kInWheels, false},
    {"tensorflow-base", "tensorflow", ""},
    {"tensorflow-eigen", "tensorflow", ""},
    {"tensorflow-mkl", "tensorflow", ""},
    {"tk", "", kInWheels, false},
    {"torchvision-cpu", "torchvision", ""},
    {"xz", "", kInWheels, false},
    {"zlib", "", kInWheels, false},
    {"zstd", "", kInWheels, false},
};

}  // namespace

std::span<const CondaName> conda_names() {
  return kNames;
}

Result<CondaOnPyPi> conda_on_pypi(std::string_view conda_spec) {
  SLIPWAY_ASSIGN(const CondaSpec spec, parse_conda_spec(conda_spec));
  const auto known = std::ranges::find_if(
      kNames, [&](const CondaName& name) { return matches_pattern(spec.name, name.conda); });
  const bool differs = known != std::end(kNames);
  if (differs && known->pypi.empty()) {
    if (known->needed)
      return fail(
          ErrorCode::kUnsupported, fmt::format("'{}' comes only from conda: {}", spec.name, known->why),
          "install a conda tool on the nodes (micromamba, mamba, conda or pixi), or take it out of the "
          "environment");
    return CondaOnPyPi{
        .requirement = "",
        .sentence = fmt::format("conda package {} is left out: {}", to_text(spec), known->why)};
  }
  SLIPWAY_ASSIGN(const std::string constraint, pip_constraint(spec));
  CondaOnPyPi found;
  found.requirement = fmt::format("{}{}", differs ? known->pypi : std::string_view(spec.name), constraint);
  found.sentence = fmt::format("conda package {} is taken from PyPI as {}", to_text(spec), found.requirement);
  return found;
}

}  // namespace slipway::environments
