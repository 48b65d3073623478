#include "client/upload.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "client/fake_server.h"
#include "snapshot/test_folder.h"

namespace slipway::client {
namespace {

using snapshot::TestFolder;
using testing::HasSubstr;

class Upload : public testing::Test {
 protected:
  Upload() {
    server_.start();
    ::setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
  }

  Result<Source> send() {
    SourceOptions options;
    options.retry = FakeServer::quick();
    options.on_upload = [this](const TransferProgress& progress) { progress_ = progress; };
    return send_source(server_.connection(), source_.path(), options);
  }

  Result<UploadSummary> upload(const snapshot::Manifest& manifest) {
    UploadOptions options;
    options.retry = FakeServer::quick();
    return upload_snapshot(server_.connection(), source_.path(), manifest, options);
  }

  static void let_a_tick_pass() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

  FakeServer server_;
  TestFolder source_;
  TestFolder cache_;
  TransferProgress progress_;
};

TEST_F(Upload, SendsSmallFilesTogetherAndLargeOnesAlone) {
  for (int i = 0; i < 50; ++i)
    source_.write(fmt::format("small/{}", i), std::string(static_cast<size_t>(i), 'x'));
  source_.write("large", std::string(3 << 20, 'y'));
  source_.write("same-as-large", std::string(3 << 20, 'y'));
  const auto sent = send();
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(server_.packs, 1);
  EXPECT_EQ(server_.puts, 1);
  EXPECT_EQ(sent->sent.sent_files, 51U);
  EXPECT_TRUE(server_.snapshots.contains(sent->manifest.id().hex()));
  EXPECT_EQ(progress_.bytes_done, progress_.bytes_total);
  EXPECT_EQ(progress_.files_done, 51U);
}

TEST_F(Upload, SendsAFolderOfOneEmptyFile) {
  source_.write("__init__.py", "");
  const auto sent = send();
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(server_.blobs.size(), 1U);
}

TEST_F(Upload, EndsAnUploadWhoseBytesAreAllThere) {
  const std::string content(100'000, 'y');
  source_.write("large", content);
  server_.partial[Digest::of(content).hex()] = content;
  const auto sent = send();
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(server_.received, 0U);
}

TEST_F(Upload, OfAnUnchangedFolderIsOneRequestWithoutABlob) {
  source_.write("a", "1");
  source_.write("large", std::string(100'000, 'y'));
  let_a_tick_pass();
  ASSERT_TRUE(send());
  const int before = server_.requests;
  const auto again = send();
  ASSERT_TRUE(again);
  EXPECT_EQ(server_.requests - before, 1);
  EXPECT_EQ(again->sent.sent_bytes, 0U);
}

TEST_F(Upload, SendsOnlyWhatChanged) {
  source_.write("a", "1");
  source_.write("b", "2");
  ASSERT_TRUE(send());
  source_.write("b", "changed");
  const auto again = send();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->sent.sent_files, 1U);
  EXPECT_EQ(again->sent.sent_bytes, 7U);
}

TEST_F(Upload, SendsEverythingToAServerThatHasForgotten) {
  source_.write("a", "1");
  let_a_tick_pass();
  ASSERT_TRUE(send());
  server_.blobs.clear();
  const auto again = send();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->sent.sent_files, 1U);
}

TEST_F(Upload, GoesOnWhereABrokenOneStopped) {
  source_.write("large", std::string(8 << 20, 'y'));
  server_.cut_uploads = 2;
  const auto sent = send();
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(server_.puts, 3);
  // Each cut kept what had come, so nothing was received twice.
  EXPECT_EQ(server_.received, 8U << 20);
  EXPECT_EQ(progress_.files_done, 1U);
}

TEST_F(Upload, WaitsForAServerThatIsBusy) {
  source_.write("a", "1");
  server_.fail_next = 3;
  const auto sent = send();
  EXPECT_TRUE(sent) << sent.error().message;
}

TEST_F(Upload, GivesUpOnAServerThatStaysBusy) {
  source_.write("a", "1");
  server_.fail_next = 1000;
  const auto sent = send();
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kUnavailable);
}

TEST_F(Upload, NamesAFileThatIsNotWhatTheManifestSays) {
  source_.write("small", "1");
  source_.write("large", std::string(100'000, 'y'));
  const auto taken = snapshot::take_snapshot(source_.path());
  for (const std::string path : {"small", "large"}) {
    for (const std::string& content : {std::string(), std::string(path == "small" ? 1 : 100'000, 'z')}) {
      source_.write(path, content);
      server_.blobs.clear();
      const auto sent = upload(taken->manifest);
      ASSERT_FALSE(sent);
      EXPECT_EQ(sent.error().code, ErrorCode::kConflict);
      EXPECT_EQ(sent.error().message, fmt::format("the file {} changed while it was uploaded", path));
    }
    std::filesystem::remove(source_.path() / path);
    server_.blobs.clear();
    EXPECT_FALSE(upload(taken->manifest));
    source_.write(path, path == "small" ? "1" : std::string(100'000, 'y'));
  }
  EXPECT_TRUE(server_.snapshots.empty());
  EXPECT_TRUE(upload(taken->manifest));
}

TEST_F(Upload, DoesNotSendAFileThatALinkHasReplaced) {
  const TestFolder outside;
  outside.write("secret", "1");
  source_.write("a", "1");
  const auto taken = snapshot::take_snapshot(source_.path());
  std::filesystem::remove(source_.path() / "a");
  std::filesystem::create_symlink(outside.path() / "secret", source_.path() / "a");
  EXPECT_FALSE(upload(taken->manifest));
  EXPECT_TRUE(server_.blobs.empty());
}

TEST_F(Upload, SaysWhatToDoWhenNoServerAnswers) {
  source_.write("a", "1");
  Connection connection = server_.connection();
  server_.stop();
  const auto sent = send_source(connection, source_.path());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kUnreachable);
  EXPECT_THAT(sent.error().message, HasSubstr("no Slipway server answers at " + connection.http.url));
  EXPECT_THAT(sent.error().next, HasSubstr("slipway up"));
  server_.start();
}

TEST_F(Upload, NamesASourceThatIsNotThere) {
  const auto sent = send_source(server_.connection(), "/nonexistent");
  ASSERT_FALSE(sent);
  EXPECT_THAT(sent.error().message, HasSubstr("there is no folder /nonexistent"));
}

}  // namespace
}  // namespace slipway::client
