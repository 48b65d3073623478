#include "bundle/wheels.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"

namespace slipway::bundle {
namespace {

class Folder {
 public:
  Folder() { EXPECT_NE(::mkdtemp(path_), nullptr); }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::filesystem::path path() const { return path_; }

 private:
  char path_[32] = "/tmp/slipway-bundle-XXXXXX";
};

TEST(Wheels, HoldTheSlipwayPackage) {
  ASSERT_FALSE(wheels().empty());
  const Wheel& wheel = wheels().front();
  EXPECT_TRUE(wheel.file_name.starts_with("slipway-")) << wheel.file_name;
  EXPECT_TRUE(wheel.file_name.ends_with("-py3-none-any.whl")) << wheel.file_name;
  EXPECT_TRUE(wheel.bytes.starts_with("PK"));
}

TEST(Wheels, AreWrittenOnceAndRepairedWhenTheyAreOthers) {
  const Folder folder;
  ASSERT_TRUE(write_wheels(folder.path() / "wheels"));
  const auto path = folder.path() / "wheels" / wheels().front().file_name;
  EXPECT_EQ(*read_file(path), wheels().front().bytes);
  ASSERT_TRUE(replace_file(path, "another build"));
  ASSERT_TRUE(write_wheels(folder.path() / "wheels"));
  EXPECT_EQ(*read_file(path), wheels().front().bytes);
}

TEST(Packages, AreUnpackedWholeAndOnlyOnce) {
  const Folder folder;
  const auto first = unpack_packages(folder.path());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*first, folder.path() / packages_id());
  for (const PackageFile& file : package_files()) EXPECT_EQ(*read_file(*first / file.path), file.content);
  const auto written = std::filesystem::last_write_time(*first);
  EXPECT_EQ(*unpack_packages(folder.path()), *first);
  EXPECT_EQ(std::filesystem::last_write_time(*first), written);
  // Nothing but the one folder is left.
  size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    entries += entry.exists() ? 1 : 0;
  EXPECT_EQ(entries, 1U);
}

}  // namespace
}  // namespace slipway::bundle
