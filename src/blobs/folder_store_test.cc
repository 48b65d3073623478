#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "blobs/blob_store.h"
#include "store/testing.h"

namespace slipway::blobs {
namespace {

class FolderStoreTest : public testing::Test {
 protected:
  FolderStoreTest() {
    auto opened = open_folder_store(folder_.file("blobs"));
    EXPECT_TRUE(opened);
    store_ = std::move(*opened);
  }

  std::string content_of(const Digest& digest) {
    auto blob = store_->open(digest);
    if (!blob) return "(none)";
    std::string content(blob->size, '\0');
    EXPECT_EQ(::pread(blob->fd.get(), content.data(), content.size(), 0),
              static_cast<ssize_t>(content.size()));
    return content;
  }
  std::unique_ptr<BlobWriter> begin(const Digest& digest) {
    auto writer = store_->begin(digest);
    EXPECT_TRUE(writer) << writer.error().message;
    return std::move(*writer);
  }
  std::filesystem::path path_of(const Digest& digest) {
    return folder_.path() / "blobs" / digest.hex().substr(0, 2) / digest.hex().substr(2);
  }
  std::vector<std::string> partials() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "blobs" / ".partial"))
      names.push_back(entry.path().filename());
    return names;
  }

  store::TestFolder folder_;
  std::unique_ptr<BlobStore> store_;
};

TEST_F(FolderStoreTest, GivesBackWhatWasPut) {
  const Digest digest = *store_->put("hello");
  EXPECT_EQ(digest, Digest::of("hello"));
  EXPECT_EQ(content_of(digest), "hello");
  EXPECT_EQ(store_->size_of(digest), 5U);
  EXPECT_TRUE(std::filesystem::exists(path_of(digest)));
  EXPECT_THAT(partials(), testing::IsEmpty());
}

TEST_F(FolderStoreTest, KeepsAnEmptyBlob) {
  const Digest digest = *store_->put("");
  EXPECT_EQ(store_->size_of(digest), 0U);
  EXPECT_EQ(content_of(digest), "");
}

TEST_F(FolderStoreTest, SaysNotFoundForAnUnknownBlob) {
  EXPECT_EQ(store_->size_of(Digest::of("x")), std::nullopt);
  EXPECT_EQ(store_->open(Digest::of("x")).error().code, ErrorCode::kNotFound);
}

TEST_F(FolderStoreTest, TakesABlobPieceByPiece) {
  const Digest digest = Digest::of("hello world");
  auto writer = begin(digest);
  ASSERT_TRUE(writer->append("hello "));
  ASSERT_TRUE(writer->append("world"));
  EXPECT_EQ(writer->offset(), 11U);
  EXPECT_EQ(store_->size_of(digest), std::nullopt);
  EXPECT_EQ(*writer->finish(), digest);
  EXPECT_EQ(content_of(digest), "hello world");
  EXPECT_THAT(partials(), testing::IsEmpty());
}

TEST_F(FolderStoreTest, NeverShowsABlobOfAnotherDigest) {
  const Digest digest = Digest::of("hello world");
  auto writer = begin(digest);
  ASSERT_TRUE(writer->append("hello worlD"));
  const auto finished = writer->finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(store_->size_of(digest), std::nullopt);
  EXPECT_THAT(partials(), testing::IsEmpty());
}

TEST_F(FolderStoreTest, DropsAnUploadThatIsLetGoWithoutAWord) {
  const Digest digest = Digest::of("hello world");
  begin(digest)->append("hello").value();
  EXPECT_EQ(store_->partial_size(digest), 0U);
  EXPECT_THAT(partials(), testing::IsEmpty());
}

TEST_F(FolderStoreTest, GoesOnWithASuspendedUpload) {
  const Digest digest = Digest::of("hello world");
  {
    auto writer = begin(digest);
    ASSERT_TRUE(writer->append("hello "));
    writer->suspend();
  }
  EXPECT_EQ(store_->partial_size(digest), 6U);
  auto writer = begin(digest);
  EXPECT_EQ(writer->offset(), 6U);
  ASSERT_TRUE(writer->append("world"));
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(content_of(digest), "hello world");
  EXPECT_EQ(store_->partial_size(digest), 0U);
}

TEST_F(FolderStoreTest, RefusesASecondUploadOfTheSameBlob) {
  const Digest digest = Digest::of("hello");
  auto first = begin(digest);
  const auto second = store_->begin(digest);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  ASSERT_TRUE(first->append("hello"));
  ASSERT_TRUE(first->finish());
  EXPECT_TRUE(store_->begin(digest));
}

TEST_F(FolderStoreTest, RefusesASecondUploadFromAnotherStoreOnTheSameFolder) {
  const auto other = open_folder_store(folder_.file("blobs"));
  const auto first = begin(Digest::of("hello"));
  EXPECT_EQ((*other)->begin(Digest::of("hello")).error().code, ErrorCode::kConflict);
}

TEST_F(FolderStoreTest, UploadingWhatIsThereAlreadyMakesItYoung) {
  const Digest digest = *store_->put("hello");
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(2);
  for (const bool upload : {true, false}) {
    std::filesystem::last_write_time(path_of(digest), old);
    if (upload) {
      auto writer = begin(digest);
      ASSERT_TRUE(writer->append("hello"));
      ASSERT_TRUE(writer->finish());
    } else {
      ASSERT_TRUE(store_->put("hello"));
    }
    EXPECT_EQ(*store_->hide(digest, std::chrono::hours(1)), std::nullopt);
    EXPECT_EQ(content_of(digest), "hello");
  }
}

TEST_F(FolderStoreTest, StoresManySmallOnesTogether) {
  std::vector<NamedContent> blobs;
  for (int i = 0; i < 120; ++i) {
    const std::string content = "content " + std::to_string(i % 100);  // some of them twice
    blobs.push_back({Digest::of(content), content});
  }
  ASSERT_TRUE(store_->put_all(blobs));
  for (const NamedContent& blob : blobs) EXPECT_EQ(content_of(blob.digest), blob.content);
  EXPECT_THAT(partials(), testing::IsEmpty());
}

TEST_F(FolderStoreTest, StoresNoneOfManyWhenOneHasAnotherDigest) {
  const auto stored = store_->put_all({{Digest::of("a"), "a"}, {Digest::of("b"), "B"}});
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(store_->size_of(Digest::of("a")), std::nullopt);
}

TEST_F(FolderStoreTest, RemovingFreesTheBytesWhileAReaderGoesOn) {
  const Digest digest = *store_->put("hello");
  const auto open = store_->open(digest);
  EXPECT_EQ(*store_->remove(digest), 5U);
  EXPECT_EQ(store_->size_of(digest), std::nullopt);
  char buffer[5];
  ASSERT_EQ(::pread(open->fd.get(), buffer, 5, 0), 5);
  EXPECT_EQ(std::string_view(buffer, 5), "hello");
  EXPECT_THAT(partials(), testing::IsEmpty());
  EXPECT_EQ(*store_->remove(digest), std::nullopt);
}

TEST_F(FolderStoreTest, FreesWhatWasHiddenBeforeACrash) {
  const Digest digest = *store_->put("hello");
  EXPECT_EQ(*store_->hide(digest, Duration::zero()), 5U);
  EXPECT_EQ(store_->size_of(digest), std::nullopt);
  EXPECT_EQ(partials().size(), 1U);
  store_ = *open_folder_store(folder_.file("blobs"));
  store_->free_hidden();
  EXPECT_THAT(partials(), testing::IsEmpty());
}

TEST_F(FolderStoreTest, WalksOverAllBlobsAndNothingElse) {
  std::set<Digest> put;
  uint64_t bytes = 0;
  for (const char* content : {"a", "bb", "ccc"}) put.insert(*store_->put(content));
  std::ofstream(path_of(Digest::of("a")).parent_path() / "stray") << "x";
  std::set<Digest> seen;
  ASSERT_TRUE(store_->for_each([&](const Digest& digest, uint64_t size) {
    seen.insert(digest);
    bytes += size;
  }));
  EXPECT_EQ(seen, put);
  EXPECT_EQ(bytes, 6U);
}

TEST_F(FolderStoreTest, DropsOldPartialsOnly) {
  const Digest old = Digest::of("old");
  const Digest fresh = Digest::of("fresh");
  const Digest busy = Digest::of("busy");
  for (const Digest& digest : {old, fresh}) {
    auto writer = begin(digest);
    ASSERT_TRUE(writer->append("o"));
    writer->suspend();
  }
  auto running = begin(busy);
  ASSERT_TRUE(running->append("b"));
  const auto yesterday = std::filesystem::file_time_type::clock::now() - std::chrono::hours(25);
  for (const Digest& digest : {old, busy})
    std::filesystem::last_write_time(folder_.path() / "blobs" / ".partial" / digest.hex(), yesterday);
  store_->drop_stale_partials();
  EXPECT_THAT(partials(), testing::UnorderedElementsAre(fresh.hex(), busy.hex()));
  ASSERT_TRUE(running->append("usy"));
  EXPECT_TRUE(running->finish());
}

TEST_F(FolderStoreTest, AnUploadKilledHalfWayIsNeverVisibleAndCanGoOn) {
  const std::string content(3 << 20, 'k');
  const Digest digest = Digest::of(content);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto store = open_folder_store(folder_.file("blobs"));
    auto writer = (*store)->begin(digest);
    if (!(*writer)->append(std::string_view(content).substr(0, 1 << 20))) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(store_->size_of(digest), std::nullopt);
  EXPECT_EQ(store_->partial_size(digest), 1U << 20);
  auto writer = begin(digest);
  ASSERT_TRUE(writer->append(std::string_view(content).substr(1 << 20)));
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(content_of(digest), content);
}

TEST_F(FolderStoreTest, FollowsNoLinkOutOfItsFolder) {
  const Digest digest = Digest::of("secret");
  std::ofstream(folder_.path() / "outside") << "secret";
  std::filesystem::create_directory(path_of(digest).parent_path());
  std::filesystem::create_symlink(folder_.path() / "outside", path_of(digest));
  EXPECT_FALSE(store_->open(digest));
  const Digest other = Digest::of("other");
  std::filesystem::create_symlink(folder_.path() / "outside",
                                  folder_.path() / "blobs" / ".partial" / other.hex());
  EXPECT_FALSE(store_->begin(other));
  EXPECT_EQ(*read_file(folder_.path() / "outside"), "secret");
}

TEST_F(FolderStoreTest, ManyThreadsUploadingAndRemovingLeaveWholeBlobsOnly) {
  const std::string content(200'000, 'm');
  const Digest digest = Digest::of(content);
  std::atomic<bool> stop = false;
  std::thread remover([&] {
    while (!stop) EXPECT_TRUE(store_->remove(digest));
  });
  std::thread reader([&] {
    while (!stop)
      if (auto blob = store_->open(digest)) EXPECT_EQ(blob->size, content.size());
  });
  std::vector<std::thread> uploaders;
  for (int t = 0; t < 4; ++t)
    uploaders.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        if (t % 2 == 0) {
          EXPECT_TRUE(store_->put(content));
          continue;
        }
        auto writer = store_->begin(digest);
        if (!writer) continue;
        EXPECT_TRUE((*writer)->append(content));
        EXPECT_TRUE((*writer)->finish());
      }
    });
  for (std::thread& thread : uploaders) thread.join();
  stop = true;
  remover.join();
  reader.join();
  EXPECT_THAT(partials(), testing::IsEmpty());
}

}  // namespace
}  // namespace slipway::blobs
