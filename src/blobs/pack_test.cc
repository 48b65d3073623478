#include "blobs/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/testing.h"

namespace slipway::blobs {
namespace {

struct Taken : PackSink {
  std::vector<NamedContent> blobs;
  Status begin(const Digest& digest, uint64_t) override {
    blobs.push_back({digest, ""});
    return {};
  }
  Status bytes(std::string_view bytes) override {
    blobs.back().content += bytes;
    return {};
  }
  Status end() override {
    ++ended;
    return {};
  }
  size_t ended = 0;
};

std::string pack_of(const std::vector<std::string>& contents) {
  std::string pack;
  for (const std::string& content : contents)
    pack += pack_header(Digest::of(content), content.size()) + content;
  return pack;
}

TEST(Pack, IsReadTheSameHoweverItIsCut) {
  const std::vector<std::string> contents = {"hello", "", "world", std::string(300, 'x'), ""};
  const std::string pack = pack_of(contents);
  for (size_t piece = 1; piece <= pack.size(); ++piece) {
    Taken taken;
    PackParser parser(taken, 1000);
    for (size_t at = 0; at < pack.size(); at += piece)
      ASSERT_TRUE(parser.feed(std::string_view(pack).substr(at, piece)));
    ASSERT_TRUE(parser.finish());
    ASSERT_EQ(taken.blobs.size(), contents.size());
    EXPECT_EQ(taken.ended, contents.size());
    for (size_t i = 0; i < contents.size(); ++i) {
      EXPECT_EQ(taken.blobs[i].content, contents[i]);
      EXPECT_EQ(taken.blobs[i].digest, Digest::of(contents[i]));
    }
  }
}

TEST(Pack, ThatIsCutOffIsRefused) {
  const std::string pack = pack_of({"hello"});
  for (size_t length = 1; length < pack.size(); ++length) {
    Taken taken;
    PackParser parser(taken, 1000);
    ASSERT_TRUE(parser.feed(std::string_view(pack).substr(0, length)));
    EXPECT_EQ(parser.finish().error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(taken.ended, 0U);
  }
}

TEST(Pack, ThatIsEmptyIsFine) {
  Taken taken;
  EXPECT_TRUE(PackParser(taken, 1000).finish());
}

TEST(Pack, MayNotClaimMoreThanTheLimit) {
  for (const uint64_t size : {uint64_t{1001}, ~uint64_t{0}}) {
    Taken taken;
    PackParser parser(taken, 1000);
    EXPECT_EQ(parser.feed(pack_header(Digest::of("x"), size)).error().code, ErrorCode::kTooLarge);
    EXPECT_TRUE(taken.blobs.empty());
  }
}

class PackReceiverTest : public testing::Test {
 protected:
  PackReceiverTest() : store_(*open_folder_store(folder_.file("blobs"))) {}

  Status receive(const std::string& pack) {
    PackParser parser(receiver_, 1 << 30);
    SLIPWAY_TRY(parser.feed(pack));
    SLIPWAY_TRY(parser.finish());
    return receiver_.finish();
  }

  store::TestFolder folder_;
  std::unique_ptr<BlobStore> store_;
  PackReceiver receiver_{*store_};
};

TEST_F(PackReceiverTest, StoresSmallAndLargeBlobs) {
  std::vector<std::string> contents = {std::string(3 << 20, 'L'), ""};
  for (int i = 0; i < 150; ++i) contents.push_back("small " + std::to_string(i));
  contents.push_back(std::string(2 << 20, 'M'));
  ASSERT_TRUE(receive(pack_of(contents)));
  EXPECT_EQ(receiver_.stored().size(), contents.size());
  for (const std::string& content : contents) EXPECT_EQ(store_->size_of(Digest::of(content)), content.size());
}

TEST_F(PackReceiverTest, StoresNothingUnderAWrongName) {
  const std::string large(2 << 20, 'L');
  EXPECT_FALSE(receive(pack_header(Digest::of("a"), 1) + "b"));
  EXPECT_FALSE(receive(pack_header(Digest::of("a"), large.size()) + large));
  EXPECT_EQ(store_->size_of(Digest::of("a")), std::nullopt);
}

TEST_F(PackReceiverTest, BringsTheWholeOfABlobWhoseUploadWasInterrupted) {
  const std::string large(2 << 20, 'L');
  {
    auto writer = *store_->begin(Digest::of(large));
    ASSERT_TRUE(writer->append("LLL"));
    writer->suspend();
  }
  ASSERT_TRUE(receive(pack_of({large})));
  EXPECT_EQ(store_->size_of(Digest::of(large)), large.size());
}

}  // namespace
}  // namespace slipway::blobs
