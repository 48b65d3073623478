#include "bundle/wheels.h"

#include <fmt/format.h>

#include <string>

#include "base/digest.h"
#include "base/file.h"
#include "base/random.h"

namespace slipway::bundle {
namespace {

namespace fs = std::filesystem;

std::string digest_of_packages() {
  std::string all;
  for (const PackageFile& file : package_files())
    all += fmt::format("{} {}\n{}", file.path, file.content.size(), file.content);
  return Digest::of(all).hex().substr(0, 16);
}

Status write_packages(const fs::path& folder) {
  for (const PackageFile& file : package_files()) {
    const fs::path path = folder / file.path;
    SLIPWAY_TRY(make_folders(path.parent_path()));
    SLIPWAY_TRY(replace_file(path, file.content, 0644));
  }
  return {};
}

}  // namespace

std::string_view packages_id() {
  static const std::string kId = digest_of_packages();
  return kId;
}

Status write_wheels(const fs::path& folder) {
  SLIPWAY_TRY(make_folders(folder));
  for (const Wheel& wheel : wheels()) {
    const fs::path path = folder / wheel.file_name;
    // Of another build of the same version, perhaps: then it is another size or content.
    if (const auto there = read_file(path); there && *there == wheel.bytes) continue;
    SLIPWAY_TRY(replace_file(path, wheel.bytes, 0644));
  }
  return {};
}

Result<fs::path> unpack_packages(const fs::path& folder) {
  fs::path target = folder / packages_id();
  std::error_code error;
  if (fs::is_directory(target, error)) return target;
  SLIPWAY_TRY(make_folders(folder));
  const fs::path aside = folder / fmt::format(".{}.{}", packages_id(), random_base32(8));
  Status written = write_packages(aside);
  if (written) {
    fs::rename(aside, target, error);
    // Another process was quicker: its folder holds the same.
    if (error && !fs::is_directory(target))
      written = fail(errno_error(error.value(), fmt::format("make the folder {}", target.string())));
  }
  fs::remove_all(aside, error);
  if (!written) return fail(written.error());
  return target;
}

}  // namespace slipway::bundle
