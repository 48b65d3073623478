#include "client/download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file.h"
#include "client/fake_server.h"
#include "snapshot/test_folder.h"

namespace slipway::client {
namespace {

namespace fs = std::filesystem;
using snapshot::TestFolder;
using testing::HasSubstr;

class Download : public testing::Test {
 protected:
  Download() {
    server_.route(http::Method::kGet, "/files/{name}",
                  [this](const http::Request& request) { return serve(request); });
    server_.start();
  }

  Result<http::Response> serve(const http::Request& request) {
    const std::string content = contents_.at(request.param("name"));
    if (auto range = request.header("range")) ranges_.push_back(*range);
    UniqueFd file(::memfd_create("content", MFD_CLOEXEC));
    SLIPWAY_TRY(write_all(file.get(), content));
    return http::file_response(request, std::move(file), content.size(), "application/octet-stream", "");
  }

  void add(const std::string& path, const std::string& content, int mode = 0644) {
    const std::string name = std::to_string(files_.size());
    contents_[name] = content;
    files_.push_back({.path = path,
                      .target = "/files/" + name,
                      .size = content.size(),
                      .digest = Digest::of(content),
                      .mode = mode});
  }

  Result<DownloadSummary> download() {
    DownloadOptions options;
    options.retry = FakeServer::quick();
    options.on_progress = [this](const TransferProgress& progress) { progress_ = progress; };
    return download_files(server_.connection(), files_, folder_.path() / "to", options);
  }

  std::string content(const std::string& path) {
    return read_file(folder_.path() / "to" / path).value_or("<none>");
  }
  std::string part_name(size_t index, const std::string& name) const {
    return fmt::format("to/.{}.{}.part", name, files_[index].digest.hex().substr(0, 16));
  }

  FakeServer server_;
  TestFolder folder_;
  std::map<std::string, std::string> contents_;
  std::vector<std::string> ranges_;
  std::vector<RemoteFile> files_;
  TransferProgress progress_;
};

TEST_F(Download, BringsFilesWithTheirFoldersAndModes) {
  add("model/weights.bin", std::string(9 << 20, 'w'));
  add("run.sh", "#!/bin/sh", 0755);
  add("empty", "");
  const auto got = download();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->files, 3U);
  EXPECT_EQ(content("model/weights.bin"), std::string(9 << 20, 'w'));
  EXPECT_EQ(content("empty"), "");
  struct stat status{};
  ASSERT_EQ(::stat((folder_.path() / "to/run.sh").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0755U);
  EXPECT_EQ(progress_.bytes_done, progress_.bytes_total);
  EXPECT_EQ(progress_.files_done, 3U);
}

TEST_F(Download, SkipsWhatIsThereAndReplacesWhatDiffers) {
  add("same", "content");
  add("other", "new");
  folder_.write("to/same", "content");
  folder_.write("to/other", "old");
  const auto got = download();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->skipped, 1U);
  EXPECT_EQ(got->files, 1U);
  EXPECT_EQ(got->bytes, 3U);
  EXPECT_EQ(content("other"), "new");
}

TEST_F(Download, GoesOnWithAPartThatIsThere) {
  std::string bytes(6 << 20, 'a');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 1000);
  add("big", bytes);
  folder_.write(part_name(0, "big"), bytes.substr(0, 5 << 20));
  const auto got = download();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(content("big"), bytes);
  EXPECT_EQ(got->bytes, 1U << 20);
  ASSERT_EQ(ranges_.size(), 1U);
  EXPECT_EQ(ranges_[0], fmt::format("bytes={}-", 5 << 20));
  EXPECT_FALSE(fs::exists(folder_.path() / part_name(0, "big")));
}

TEST_F(Download, StartsOverFromADamagedPart) {
  add("f", "the right content");
  folder_.write(part_name(0, "f"), "rubbish");
  const auto got = download();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(content("f"), "the right content");
  EXPECT_EQ(progress_.bytes_done, progress_.bytes_total);
}

TEST_F(Download, LeavesAPartToTheDownloadThatHoldsIt) {
  add("f", "content");
  const auto part = folder_.write(part_name(0, "f"), "con");
  const UniqueFd other(::open(part.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
  const auto got = download();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kConflict);
  EXPECT_EQ(*read_file(part), "con");
}

TEST_F(Download, KeepsNothingThatDoesNotMatchItsDigest) {
  add("f", "the right content");
  contents_["0"] = "the wrong content";
  const auto got = download();
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("f does not match its digest"));
  EXPECT_TRUE(fs::is_empty(folder_.path() / "to"));
}

TEST_F(Download, RefusesPathsThatLeaveTheFolderBeforeItWritesAnything) {
  add("good", "x");
  for (const char* path : {"../x", "/etc/x", "a/../../x", "a//b", ""}) {
    files_.resize(1);
    add(path, "evil");
    const auto got = download();
    ASSERT_FALSE(got) << path;
    EXPECT_EQ(got.error().code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(fs::exists(folder_.path() / "to/good"));
  }
}

TEST_F(Download, DoesNotFollowALinkInTheFolder) {
  const TestFolder outside;
  outside.write("victim", "safe");
  fs::create_directory(folder_.path() / "to");
  fs::create_directory_symlink(outside.path(), folder_.path() / "to/sub");
  fs::create_symlink(outside.path() / "victim", folder_.path() / "to/file");
  add("file", "new");
  ASSERT_TRUE(download());
  EXPECT_EQ(*read_file(outside.path() / "victim"), "safe");
  EXPECT_EQ(content("file"), "new");
  add("sub/planted", "evil");
  EXPECT_FALSE(download());
  EXPECT_FALSE(fs::exists(outside.path() / "planted"));
}

TEST_F(Download, WaitsForAServerThatIsBusy) {
  add("a", "1");
  server_.fail_next = 3;
  EXPECT_TRUE(download());
}

TEST_F(Download, ListsTheFilesOfARunAndOfASnapshot) {
  FakeServer server;
  const Digest digest = Digest::of("x");
  server.route(
      http::Method::kGet, "/api/v1/workspaces/{workspace}/runs/{run}/files",
      [&](const http::Request& request) {
        EXPECT_EQ(request.query_value("prefix"), "outputs/");
        return http::json_response(json::object{
            {"items",
             {json::object{{"path", "outputs/a b&c"}, {"size", 1}, {"digest", digest.hex()}, {"mode", 420}}}},
            {"next_cursor", nullptr}});
      });
  const auto manifest =
      snapshot::Manifest::from_entries({{.path = "train.py", .mode = 0755, .size = 1, .digest = digest}});
  server.route(http::Method::kGet, "/api/v1/workspaces/{workspace}/snapshots/{snapshot}",
               [&](const http::Request&) { return http::text_response(manifest->text()); });
  server.start();
  Requests requests(server.connection(), FakeServer::quick());
  const auto files = list_run_files(requests, "r-1", "outputs/");
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->size(), 1U);
  EXPECT_EQ(files->front().target, "/api/v1/workspaces/w/runs/r-1/files/content?path=outputs%2Fa%20b%26c");
  const auto source = list_snapshot_files(requests, manifest->id().hex());
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->front().mode, 0755);
  EXPECT_THAT(source->front().target,
              HasSubstr("/snapshots/" + manifest->id().hex() + "/blobs/" + digest.hex()));
}

}  // namespace
}  // namespace slipway::client
