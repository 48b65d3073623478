#include "node/private_mounts.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"

namespace slipway::node {
namespace {

namespace fs = std::filesystem;

class PrivateMounts : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/slipway-mounts-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    for (const char* part : {"shared", "upper", "work", "root"}) fs::create_directory(folder_ / part);
    std::ofstream(folder_ / "shared/file") << "shared";
  }
  void TearDown() override { fs::remove_all(folder_); }

  launch::Overlay overlay() const {
    return {.folder = (folder_ / "shared").string(),
            .upper = (folder_ / "upper").string(),
            .work = (folder_ / "work").string()};
  }
  // Runs it in a child, as another user where asked; gives its exit code.
  template <class Work>
  int in_child(const Work& work, uid_t user = 0) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (user != 0 && (::setgid(user) != 0 || ::setuid(user) != 0)) ::_exit(99);
      // Who changes his user loses his own files in /proc, which one who was born with it has.
      ::prctl(PR_SET_DUMPABLE, 1);
      ::_exit(work());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }
  int write_in_private() {
    return in_child([&] {
      if (const Status entered = enter_private_mounts({overlay()}); !entered) return 1;
      std::ofstream(folder_ / "shared/file") << "changed";
      return *read_file(folder_ / "shared/file") == "changed" ? 0 : 2;
    });
  }

  fs::path folder_;
};

TEST_F(PrivateMounts, WhatIsWrittenStaysWithTheWriter) {
  ASSERT_TRUE(private_mounts_work(folder_)) << "tests run where mount namespaces can be made";
  EXPECT_EQ(write_in_private(), 0);
  EXPECT_EQ(*read_file(folder_ / "shared/file"), "shared");
  EXPECT_EQ(*read_file(folder_ / "upper/file"), "changed");
}

// A process with several threads cannot enter a user namespace, and TSan has a thread of its own.
#if !__has_feature(thread_sanitizer)
TEST_F(PrivateMounts, WorkForAUserWhoIsNotRoot) {
  constexpr uid_t kNobody = 65534;
  for (const auto& entry : fs::recursive_directory_iterator(folder_))
    ASSERT_EQ(::chown(entry.path().c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(::chown(folder_.c_str(), kNobody, kNobody), 0);
  const int code = in_child(
      [&] {
        if (const Status entered = enter_private_mounts({overlay()}); !entered) return 1;
        std::ofstream(folder_ / "shared/file") << "changed";
        return ::getuid() == kNobody && *read_file(folder_ / "shared/file") == "changed" ? 0 : 2;
      },
      kNobody);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(*read_file(folder_ / "shared/file"), "shared");
}
#endif

TEST_F(PrivateMounts, ARootHasThePlacesItIsToHaveAndItsLinksStayInside) {
  fs::create_directories(folder_ / "shared/etc");
  fs::create_directory_symlink("/etc", folder_ / "shared/tmp");  // would lead out of the image
  std::ofstream(folder_ / "given") << "given";
  const launch::Root root{.files = overlay(),
                          .mount = (folder_ / "root").string(),
                          .binds = {(folder_ / "given").string()},
                          .shm_bytes = 1 << 20};
  const int code = in_child([&] {
    if (const Status entered = enter_private_mounts({}, root); !entered) return 1;
    if (::chroot(root.mount.c_str()) != 0 || ::chdir("/") != 0) return 2;
    if (*read_file("/file") != "shared") return 3;
    if (*read_file(folder_ / "given") != "given") return 4;
    if (!fs::exists("/proc/self/status") || !fs::exists("/dev/null")) return 5;
    return fs::exists("/dev/shm") ? 0 : 6;
  });
  EXPECT_EQ(code, 0);
  EXPECT_FALSE(fs::exists("/etc" / folder_.filename())) << "the machine's own /etc was written";
}

TEST_F(PrivateMounts, AFolderThatIsNotThereIsSaid) {
  fs::remove(folder_ / "upper");
  EXPECT_EQ(write_in_private(), 1);
}

}  // namespace
}  // namespace slipway::node
