// The Python packages that go with this program, inside the program itself: a node needs nothing else to let
// a job `import slipway`, and environments are built with exactly these versions.
//
// Made by python/build_wheels.py when the program is built. All views are static; safe from any thread.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "base/result.h"

namespace slipway::bundle {

// A pure wheel ("slipway-0.1.0-py3-none-any.whl"), whole: written to a folder, pip and uv take it from there.
struct Wheel {
  std::string_view file_name;
  std::string_view bytes;
};
std::span<const Wheel> wheels();

// One file of the packages, as it would lie in site-packages ("slipway/__init__.py").
struct PackageFile {
  std::string_view path;
  std::string_view content;
};
std::span<const PackageFile> package_files();

// A digest of all package files: names a folder that never has to change once it is there.
std::string_view packages_id();

// Writes the wheels into `folder`, which is made where it is missing; those that are there already are left.
Status write_wheels(const std::filesystem::path& folder);

// Makes `<folder>/<packages_id()>` hold the packages, ready for PYTHONPATH, and gives its path. It appears
// whole or not at all; several processes may do it at once. Quick when it is there.
Result<std::filesystem::path> unpack_packages(const std::filesystem::path& folder);

}  // namespace slipway::bundle
