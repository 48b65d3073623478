// Serves one FUSE connection: the kernel's requests about a read-only tree, answered from LazyFiles.
//
// The protocol is spoken here and not through libfuse: what a read-only tree needs of it is small, Debian's
// library (3.14) does not know passthrough, and one executable without another library is worth it. The
// kernel's own header gives the messages; what is newer than Debian's copy of it is named in fuse_newer.h.
//
//  1. Nothing ever changes: names, attributes and pages are cached by the kernel for as long as it likes.
//  2. Two ways to open. Where small files make up the data, opening is not a message at all (the kernel is
//     told so once): a file that is in the page cache is read without us. Where large ones do and the kernel
//     allows it (6.9, root), a file that is whole in the cache is opened for passthrough: its reads go to the
//     cached file without us.
//  3. While a file is open one way it is not opened the other: the kernel would refuse it.
//  4. It ends when the mount is gone, and only then; `stop` is for the one who unmounts.
//
// One thread calls `serve`; it starts the others and joins them.
#pragma once

#include <linux/fuse.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "data/mount/lazy_files.h"
#include "data/mount/tree.h"

namespace slipway::data {

class FuseSession {
 public:
  // `device` is /dev/fuse with the mount behind it. Tree and files outlive the session.
  FuseSession(UniqueFd device, const MountTree& tree, LazyFiles& files);

  // Answers requests until the mount is gone. An error when the device broke otherwise.
  Status serve();

  // Whether the kernel reads whole files past us; known after the first message.
  bool passes_through() const { return passthrough_; }

 private:
  // How a file is open at the kernel; see 3.
  struct Opened {
    uint32_t cached = 0;
    uint32_t passed = 0;
    int backing = 0;  // the kernel's number of the cached file, while `passed`
  };
  struct Buffers;
  struct Message {
    fuse_in_header head{};
    std::string_view body;
  };

  Status serve_one_thread();
  void answer(const Message& message, Buffers& buffers);
  void on_init(const Message& message);
  void on_lookup(const Message& message);
  void on_getattr(const Message& message);
  void on_open(const Message& message);
  void on_release(const Message& message);
  void on_read(const Message& message, Buffers& buffers);
  void on_readdir(const Message& message, Buffers& buffers, bool plus);
  void on_statfs(const Message& message);
  void on_interrupt(const Message& message);

  bool open_passing(uint64_t node, Opened& opened);
  fuse_attr attributes(uint64_t node) const;
  fuse_entry_out entry(uint64_t node) const;
  void reply(const Message& message, std::string_view payload) const;
  void refuse(const Message& message, int error) const;
  bool is_interrupted(uint64_t unique);
  bool forget_interrupt(uint64_t unique);  // false: it was not interrupted

  const UniqueFd device_;
  const MountTree& tree_;
  LazyFiles& files_;
  const uint64_t mounted_at_;
  const bool mostly_large_;
  std::atomic<bool> passthrough_ = false;

  std::mutex mutex_;
  std::map<uint64_t, Opened> opened_;
  std::set<uint64_t> interrupted_;
};

}  // namespace slipway::data
