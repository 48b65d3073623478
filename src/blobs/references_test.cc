#include "blobs/references.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/testing.h"

namespace slipway::blobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ReferencesTest : public testing::Test {
 protected:
  ReferencesTest() : blobs_(*open_folder_store(store_.folder().file("blobs"))) {}

  void add(const Digest& digest, const std::string& owner, std::optional<Timestamp> expires = std::nullopt,
           const WorkspaceName& workspace = WorkspaceName("main")) {
    ASSERT_TRUE(store_->write(
        [&](store::Writer& writer) { return add_reference(writer, digest, owner, workspace, expires); }));
  }
  void drop(const std::string& owner) {
    ASSERT_TRUE(store_->write([&](store::Writer& writer) { return drop_references(writer, owner); }));
  }
  std::vector<Digest> missing_in(const char* workspace, const std::vector<Digest>& digests) {
    std::vector<Digest> found;
    EXPECT_TRUE(store_->read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(found, missing(reader, WorkspaceName(workspace), digests));
      return {};
    }));
    return found;
  }
  Swept sweep(Duration grace = Duration::zero()) {
    auto swept = Sweeper(store_.database(), *blobs_, clock_, grace).sweep();
    EXPECT_TRUE(swept) << swept.error().message;
    return swept.value_or(Swept{});
  }
  Timestamp in(Duration time) { return {clock_.now().micros + time.count()}; }

  store::TestStore store_;
  std::unique_ptr<BlobStore> blobs_;
  ManualClock clock_;
  const Digest a_ = Digest::of("a");
  const Digest b_ = Digest::of("b");
};

TEST_F(ReferencesTest, ABlobIsPresentOnlyInAWorkspaceThatRefersToIt) {
  add(a_, "run/x");
  EXPECT_THAT(missing_in("main", {b_, a_, b_}), ElementsAre(b_));
  EXPECT_THAT(missing_in("other", {a_}), ElementsAre(a_));
}

TEST_F(ReferencesTest, SweepingFreesWhatNothingRefersTo) {
  const std::string content(100'000, 'c');
  const Digest digest = *blobs_->put(content);
  ASSERT_TRUE(blobs_->put("a"));
  add(digest, "run/x");
  add(digest, "run/y");
  add(a_, "run/x");
  EXPECT_EQ(sweep().blobs, 0U);
  drop("run/x");
  EXPECT_EQ(sweep().bytes, 1U);
  EXPECT_TRUE(blobs_->size_of(digest));
  drop("run/y");
  const Swept swept = sweep();
  EXPECT_EQ(swept.blobs, 1U);
  EXPECT_EQ(swept.bytes, content.size());
  EXPECT_FALSE(blobs_->size_of(digest));
}

TEST_F(ReferencesTest, AYoungBlobIsLeftAlone) {
  ASSERT_TRUE(blobs_->put("a"));
  EXPECT_EQ(sweep(std::chrono::minutes(1)).blobs, 0U);
  EXPECT_TRUE(blobs_->size_of(a_));
}

TEST_F(ReferencesTest, AnUploadThatNothingClaimsExpires) {
  ASSERT_TRUE(blobs_->put("a"));
  add(a_, upload_owner(WorkspaceName("main")), in(std::chrono::hours(1)));
  EXPECT_EQ(sweep().leases, 0U);
  EXPECT_TRUE(blobs_->size_of(a_));
  clock_.advance(std::chrono::hours(2));
  const Swept swept = sweep();
  EXPECT_EQ(swept.leases, 1U);
  EXPECT_EQ(swept.blobs, 1U);
}

TEST_F(ReferencesTest, UploadingAgainPutsTheExpiryOffAndNeverForward) {
  ASSERT_TRUE(blobs_->put("a"));
  const std::string owner = upload_owner(WorkspaceName("main"));
  add(a_, owner, in(std::chrono::hours(3)));
  add(a_, owner, in(std::chrono::hours(1)));
  clock_.advance(std::chrono::hours(2));
  EXPECT_EQ(sweep().leases, 0U);
  add(a_, owner, in(std::chrono::hours(2)));
  clock_.advance(std::chrono::minutes(90));
  EXPECT_EQ(sweep().leases, 0U);
}

TEST_F(ReferencesTest, ALastingReferenceEndsTheUploadsLease) {
  ASSERT_TRUE(blobs_->put("a"));
  add(a_, upload_owner(WorkspaceName("main")), in(std::chrono::hours(1)));
  add(a_, upload_owner(WorkspaceName("other")), in(std::chrono::hours(1)), WorkspaceName("other"));
  add(a_, "run/x");
  drop("run/x");
  EXPECT_THAT(missing_in("main", {a_}), ElementsAre(a_));
  EXPECT_THAT(missing_in("other", {a_}), IsEmpty());
}

TEST_F(ReferencesTest, ALastingReferenceDoesNotExpireWhenItIsAddedAgainWithATime) {
  ASSERT_TRUE(blobs_->put("a"));
  add(a_, "run/x");
  add(a_, "run/x", in(std::chrono::hours(1)));
  clock_.advance(std::chrono::hours(2));
  EXPECT_EQ(sweep().leases, 0U);
}

TEST_F(ReferencesTest, WhatIsPutDuringAHoldStaysUntilItEnds) {
  auto hold = blobs_->hold();
  ASSERT_TRUE(blobs_->put("a"));
  EXPECT_EQ(sweep().blobs, 0U);
  hold.reset();
  EXPECT_EQ(sweep().blobs, 1U);
}

TEST_F(ReferencesTest, AnUploadIsHeldUntilItsWriterIsGone) {
  auto writer = *blobs_->begin(a_);
  ASSERT_TRUE(writer->append("a"));
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(sweep().blobs, 0U);
  writer.reset();
  EXPECT_EQ(sweep().blobs, 1U);
}

TEST_F(ReferencesTest, AnUploadWhoseBytesCameLongAgoIsYoungWhenItEnds) {
  auto writer = *blobs_->begin(a_);
  ASSERT_TRUE(writer->append("a"));
  writer->suspend();
  std::filesystem::last_write_time(store_.folder().path() / "blobs" / ".partial" / a_.hex(),
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  writer = *blobs_->begin(a_);
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(sweep().blobs, 0U);
  writer.reset();
  EXPECT_EQ(sweep(std::chrono::minutes(1)).blobs, 0U);
}

TEST_F(ReferencesTest, AnUploadThatIsGoneAgainGetsNoReference) {
  const auto lease = [&] {
    return store_->write([&](store::Writer& writer) {
      return add_upload(writer, *blobs_, a_, WorkspaceName("main"), in(std::chrono::hours(1)));
    });
  };
  EXPECT_EQ(lease().error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(blobs_->put("a"));
  EXPECT_TRUE(lease());
  EXPECT_THAT(missing_in("main", {a_}), IsEmpty());
}

// Uploads and claims race with sweeping: whatever got its reference must be there.
TEST_F(ReferencesTest, ABlobWhoseReferenceIsBeingAddedIsNeverSwept) {
  std::atomic<bool> stop = false;
  std::thread sweeper([&] {
    Sweeper other(store_.database(), *blobs_, clock_, std::chrono::seconds(30));
    while (!stop) EXPECT_TRUE(other.sweep());
  });
  for (int i = 0; i < 30; ++i) {
    const std::string content = "content " + std::to_string(i % 3);
    const Digest digest = *blobs_->put(content);
    const std::string owner = "run/" + std::to_string(i);
    add(digest, owner);
    EXPECT_TRUE(blobs_->open(digest));
    drop(owner);
  }
  stop = true;
  sweeper.join();
}

}  // namespace
}  // namespace slipway::blobs
