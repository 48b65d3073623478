// How a FUSE connection gets its place in the tree of folders, and how it leaves it.
//
// Privileged: mount(2) by ourselves. Helped: fusermount3, which is installed setuid; a guard process unmounts
// with it when we die.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace slipway::data {

enum class MountWay { kPrivileged, kHelped };

// The way this process has. Tried out, not guessed: a child mounts below a private copy of the tree, which
// goes with it. kUnsupported says what is missing: the device, the permission, the helper.
Result<MountWay> find_mount_way(const std::filesystem::path& some_folder);

// A place where a FUSE connection is mounted; unmounted with this object.
class Mounted {
 public:
  // `at` is a folder. `source` stands in the list of mounts: "slipway:mnist:2".
  static Result<Mounted> mount(const std::filesystem::path& at, std::string_view source, MountWay way);
  ~Mounted();
  Mounted(Mounted&& other) noexcept;
  Mounted& operator=(Mounted&&) = delete;

  // The connection, to serve it; given once.
  UniqueFd take_device() { return std::move(device_); }
  // The kernel reads ahead as far as one request goes. Asks the mount, which must be served by now. Without
  // the right to set it reading is slower, that is all.
  void widen_read_ahead() const;
  void unmount();

 private:
  Mounted(std::filesystem::path at, MountWay way) : at_(std::move(at)), way_(way) {}
  Status mount_by_ourselves(std::string_view source);
  Status mount_helped(std::string_view source);

  std::filesystem::path at_;
  MountWay way_;
  UniqueFd device_;
  UniqueFd guard_;  // helped: closed by whatever end of ours, it makes another process unmount
};

// Takes away what a dead server has left at or below that folder. Only FUSE mounts of ours.
void detach_dead_mounts(const std::filesystem::path& below);

// From here on mounts of this process and its children are seen by nobody else; those of the machine are
// still seen here. kPermissionDenied where that is not allowed.
Status enter_private_mounts();

}  // namespace slipway::data
