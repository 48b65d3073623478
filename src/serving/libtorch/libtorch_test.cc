#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "serving/libtorch/memory_room.h"
#include "serving/libtorch/runtime_build.h"

namespace slipway::serving {
namespace {

namespace fs = std::filesystem;

TEST(TorchConfigTest, SaysHowCodeIsCompiledThatMeetsTheLibrary) {
  const TorchBuild old = read_torch_config(
      "  set(TORCH_CXX_FLAGS \"-D_GLIBCXX_USE_CXX11_ABI=0\")\nset_target_properties(torch PROPERTIES\n"
      "    CXX_STANDARD 14\n)\n");
  EXPECT_EQ(old.standard, "14");
  EXPECT_EQ(old.abi, "0");
}

TEST(TorchConfigTest, SaysNothingOfItInNewPackages) {
  for (const char* text : {"", "CXX_STANDARD ${X}\n_GLIBCXX_USE_CXX11_ABI="}) {
    EXPECT_EQ(read_torch_config(text).standard, "20");
    EXPECT_EQ(read_torch_config(text).abi, "1");
  }
}

class MemoryRoomTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "slipway-groups-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(root_); }

  void limit(const fs::path& group, const char* file, const char* content) {
    fs::create_directories(root_ / group);
    std::ofstream(root_ / group / file) << content << '\n';
  }

  fs::path root_;
};

TEST_F(MemoryRoomTest, IsTheSmallestLimitOfTheGroupsAbove) {
  limit("v2/a/b/c", "memory.max", "max");
  limit("v2/a/b", "memory.max", "500");
  limit("v2/a", "memory.max", "800");
  limit("", "memory.max", "1");  // above the mount it is no group's
  CgroupPlaces own;
  own.mounts = {root_ / "v2"};
  own.unified = root_ / "v2/a/b/c";
  EXPECT_EQ(memory_room(own), 500);
  own.unified = root_ / "v2/a";
  EXPECT_EQ(memory_room(own), 800);
}

TEST_F(MemoryRoomTest, IsThatOfTheFirstVersionToo) {
  limit("memory/x", "memory.limit_in_bytes", "300");
  CgroupPlaces own;
  own.mounts = {root_ / "memory", root_ / "v2"};
  own.unified = root_ / "v2";
  own.memory = root_ / "memory/x";
  EXPECT_EQ(memory_room(own), 300);
}

TEST_F(MemoryRoomTest, HasNoBoundWhereNothingSetsOne) {
  limit("v2/a", "memory.max", "max");
  CgroupPlaces own;
  EXPECT_EQ(memory_room(own), std::nullopt);
  own.mounts = {root_ / "v2"};
  for (const char* group : {"v2/a", "v2/gone/deep", "v2"}) {
    own.unified = root_ / group;
    EXPECT_EQ(memory_room(own), std::nullopt) << group;
  }
}

}  // namespace
}  // namespace slipway::serving
