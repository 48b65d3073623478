#include "environments/build/late_packages.h"

#include <algorithm>

#include "environments/requirement.h"

namespace slipway::environments {
namespace {

struct Framework {
  std::string_view variable;               // HOROVOD_WITH_... and HOROVOD_WITHOUT_...
  std::vector<std::string_view> packages;  // any of them is it
};

const std::vector<Framework>& horovod_frameworks() {
  static const std::vector<Framework> frameworks{
      {"TENSORFLOW", {"tensorflow", "tensorflow-cpu", "tensorflow-gpu", "intel-tensorflow"}},
      {"PYTORCH", {"torch"}},
      {"MXNET", {"mxnet", "mxnet-cu101", "mxnet-mkl"}}};
  return frameworks;
}

// Calls `take` with each entry of a lock: "name==1.2 \", its hashes and the comments behind it.
template <class Take>
void for_each_entry(std::string_view body, const Take& take) {
  size_t begin = 0;
  while (begin < body.size()) {
    // An entry goes on with lines that are indented.
    size_t end = begin;
    do {
      end = std::min(body.find('\n', end), body.size());
      end = std::min(end + 1, body.size());
    } while (end < body.size() && (body[end] == ' ' || body[end] == '\t'));
    take(body.substr(begin, end - begin));
    begin = end;
  }
}

std::string name_of(std::string_view entry) {
  const size_t end = entry.find_first_of("=<>@[; \\\n");
  return package_name(entry.substr(0, end));
}

}  // namespace

std::span<const LatePackage> late_packages() {
  static const std::vector<LatePackage> packages{
      {"horovod",
       {"setuptools", "wheel"},
       {"tensorflow", "tensorflow-cpu", "tensorflow-gpu", "torch", "mxnet"}},
      {"apex", {"setuptools", "wheel", "packaging"}, {"torch"}},
      {"flash-attn", {"setuptools", "wheel", "packaging", "ninja"}, {"torch"}},
      {"xformers", {"setuptools", "wheel", "ninja"}, {"torch"}},
      {"detectron2", {"setuptools", "wheel"}, {"torch"}},
      {"torch-scatter", {"setuptools", "wheel"}, {"torch"}},
      {"torch-sparse", {"setuptools", "wheel"}, {"torch"}},
      {"torch-cluster", {"setuptools", "wheel"}, {"torch"}},
      {"torch-spline-conv", {"setuptools", "wheel"}, {"torch"}},

      {"causal-conv1d", {"setuptools", "wheel", "packaging", "ninja"}, {"torch"}},
      {"mamba-ssm", {"setuptools", "wheel", "packaging", "ninja"}, {"torch"}}};
  return packages;
}

const LatePackage* find_late_package(std::string_view name) {
  const std::string wanted = package_name(name);
  const auto packages = late_packages();
  const auto found = std::ranges::find(packages, wanted, &LatePackage::name);
  return found == packages.end() ? nullptr : &*found;
}

Phases split_lock(std::string_view body) {
  Phases phases;
  for_each_entry(body, [&](std::string_view entry) {
    const bool package = !entry.starts_with('-') && !entry.starts_with('#');
    const bool late = package && find_late_package(name_of(entry)) != nullptr;
    // The options of the resolver hold for both.
    if (!package || !late) phases.first += entry;
    if (!package || late) phases.second += entry;
    if (late) phases.late.push_back(name_of(entry));
  });
  return phases;
}

std::map<std::string, std::string> locked_versions(std::string_view body) {
  std::map<std::string, std::string> versions;
  for_each_entry(body, [&](std::string_view entry) {
    if (entry.starts_with('-') || entry.starts_with('#')) return;
    const size_t equals = entry.find("==");
    if (equals == std::string_view::npos) {
      versions[name_of(entry)] = "";
      return;
    }
    const std::string_view rest = entry.substr(equals + 2);
    versions[name_of(entry)] = rest.substr(0, rest.find_first_of(" ;\\\n"));
  });
  return versions;
}

std::map<std::string, std::string> build_variables(const std::map<std::string, std::string>& versions) {
  std::map<std::string, std::string> variables;
  if (!versions.contains("horovod")) return variables;
  variables["HOROVOD_WITH_MPI"] = "1";
  variables["HOROVOD_WITHOUT_GLOO"] = "1";
  for (const Framework& framework : horovod_frameworks()) {
    const bool there = std::ranges::any_of(
        framework.packages, [&](std::string_view name) { return versions.contains(std::string(name)); });
    variables[(there ? "HOROVOD_WITH_" : "HOROVOD_WITHOUT_") + std::string(framework.variable)] = "1";
  }
  return variables;
}

}  // namespace slipway::environments
