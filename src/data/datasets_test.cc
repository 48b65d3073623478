#include "data/datasets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blobs/references.h"
#include "snapshot/test_folder.h"
#include "store/testing.h"

namespace slipway::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class DatasetsTest : public testing::Test {
 protected:
  DatasetsTest()
      : blobs_(std::move(*blobs::open_folder_store(store_.folder().file("blobs")))),
        datastores_(store_.database(), *blobs_, clock_, Seal(store_.folder().file("secrets.key"))),
        datasets_(store_.database(), *blobs_, datastores_, clock_) {
    folder_.write("train/1.txt", "one");
    folder_.write("train/2.txt", "two");
    EXPECT_TRUE(datastores_.add(workspace_, new_store("images", folder_.path().string())));
  }

  static NewDatastore new_store(std::string name, std::string path) {
    return {.name = std::move(name),
            .kind = SourceKind::kFolder,
            .location = std::move(path),
            .description = "",
            .credentials = {}};
  }
  static NewDatastore web_store(std::string url, std::string credentials) {
    return {.name = "web",
            .kind = SourceKind::kHttp,
            .location = std::move(url),
            .description = "",
            .credentials = Secret(std::move(credentials))};
  }
  Result<CreatedDataset> create(const std::string& name, Definition definition) {
    return datasets_.create(workspace_, {.name = name,
                                         .definition = std::move(definition),
                                         .description = std::nullopt,
                                         .tags = {},
                                         .created_by = "me"});
  }
  Result<Object> put(const std::string& path, std::string text, bool overwrite = false) {
    auto own = datastores_.own(workspace_, std::string(kOwnStore));
    return own.write(
        path,
        [&text, given = std::string()]() mutable -> Result<std::string_view> {
          given = std::exchange(text, "");
          return given;
        },
        overwrite);
  }

  const WorkspaceName workspace_{"default"};
  ManualClock clock_;
  store::TestStore store_;
  snapshot::TestFolder folder_;
  std::unique_ptr<blobs::BlobStore> blobs_;
  Datastores datastores_;
  Datasets datasets_;
};

TEST_F(DatasetsTest, TheSameFilesAreTheSameVersion) {
  const auto first = create("mnist", {.paths = {"images:train"}});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->record.version, 1);
  EXPECT_EQ(first->record.files, 2U);
  EXPECT_FALSE(first->existed);
  const auto again = create("mnist", {.paths = {"images:train"}});
  EXPECT_TRUE(again->existed);
  EXPECT_EQ(again->record.version, 1);
  folder_.write("train/2.txt", "changed");
  const auto changed = create("mnist", {.paths = {"images:train"}});
  EXPECT_EQ(changed->record.version, 2);
  folder_.write("train/2.txt", "two");
  EXPECT_EQ(create("mnist", {.paths = {"images:train"}})->record.version, 1);
  EXPECT_EQ(create("mnist", {.paths = {"images:train/*"}})->record.version, 3) << "another definition";
}

TEST_F(DatasetsTest, AreMadeFromTheFilesOfAnotherVersion) {
  ASSERT_TRUE(create("mnist", {.paths = {"images:train"}}));
  Operation one;
  one.count = 1;
  const auto small = create("small", {.operations = {one}, .from = "mnist"});
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_EQ(small->record.definition.from, "mnist:1");
  EXPECT_THAT(small->record.definition.paths, ElementsAre("images:train"));
  EXPECT_EQ(small->record.files, 1U);
}

TEST_F(DatasetsTest, VersionsAreFoundByNameAndNumber) {
  ASSERT_TRUE(create("mnist", {.paths = {"images:train"}}));
  EXPECT_EQ(datasets_.find(workspace_, "mnist")->version, 1);
  EXPECT_EQ(datasets_.find(workspace_, "mnist:latest")->version, 1);
  EXPECT_THAT(datasets_.find(workspace_, "mnist:2").error().message, HasSubstr("no version 2"));
  EXPECT_THAT(datasets_.find(workspace_, "minst").error().next, HasSubstr("mnist"));
  EXPECT_EQ(datasets_.find(workspace_, "mnist:0").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(DatasetsTest, NumbersAreNeverGivenTwice) {
  ASSERT_TRUE(create("mnist", {.paths = {"images:train"}}));
  ASSERT_TRUE(datasets_.remove(workspace_, "mnist"));
  EXPECT_FALSE(datasets_.find(workspace_, "mnist"));
  EXPECT_EQ(create("mnist", {.paths = {"images:train"}})->record.version, 2);
}

TEST_F(DatasetsTest, KeepWhatTheWorkspaceStoreForgets) {
  ASSERT_TRUE(put("a/1", "kept"));
  const auto made = create("own", {.paths = {"a"}});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(put("a/1", "other", true));
  auto own = datastores_.own(workspace_, std::string(kOwnStore));
  ASSERT_TRUE(own.remove("a/1"));
  blobs::Sweeper sweeper(store_.database(), *blobs_, clock_, Duration::zero());
  ASSERT_TRUE(sweeper.sweep());
  const auto manifest = datasets_.manifest(made->record.manifest);
  ASSERT_TRUE(manifest);
  EXPECT_EQ(*datasets_.read_beginning(workspace_, **manifest, (*manifest)->files().front(), 100), "kept");
  ASSERT_TRUE(datasets_.remove(workspace_, "own"));
  EXPECT_EQ(store_.number("SELECT COUNT(*) FROM blob_refs"), 0);
}

TEST_F(DatasetsTest, SayThatAFolderHasOtherFilesByNow) {
  const auto made = create("mnist", {.paths = {"images:train"}});
  folder_.write("train/1.txt", "no longer");
  const auto manifest = datasets_.manifest(made->record.manifest);
  const auto opened = datasets_.open(workspace_, **manifest, "1.txt");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kConflict);
}

TEST_F(DatasetsTest, AreNotCreatedOnceTheServerStops) {
  datasets_.stop();
  EXPECT_EQ(create("mnist", {.paths = {"images:train"}}).error().code, ErrorCode::kUnavailable);
}

TEST_F(DatasetsTest, HaveTagsAndADescription) {
  ASSERT_TRUE(create("mnist", {.paths = {"images:train"}}));
  const auto tagged = datasets_.label(workspace_, "mnist", {{"a", "1"}, {"b", "2"}}, "what it is");
  ASSERT_TRUE(tagged);
  const auto changed = datasets_.label(workspace_, "mnist:1", {{"a", std::nullopt}}, std::nullopt);
  EXPECT_EQ(changed->tags, (std::map<std::string, std::string>{{"b", "2"}}));
  EXPECT_EQ(datasets_.find(workspace_, "mnist")->description, "what it is");
}

TEST_F(DatasetsTest, DatastoresAlwaysHaveTheWorkspacesOwn) {
  const auto all = datastores_.list(workspace_);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->front().name, kOwnStore);
  EXPECT_TRUE(all->front().is_default);
  EXPECT_EQ(datastores_.find(workspace_, "default")->name, kOwnStore);
  EXPECT_EQ(datastores_.remove(workspace_, std::string(kOwnStore)).error().code, ErrorCode::kConflict);
  ASSERT_TRUE(datastores_.set_default(workspace_, "images"));
  EXPECT_EQ(datastores_.find(workspace_, "default")->name, "images");
  EXPECT_EQ(datastores_.remove(workspace_, "images").error().code, ErrorCode::kConflict);
  ASSERT_TRUE(datastores_.set_default(workspace_, std::string(kOwnStore)));
  EXPECT_TRUE(datastores_.remove(workspace_, "images"));
  EXPECT_THAT(datastores_.find(workspace_, "images").error().next, HasSubstr("workspaceblobstore"));
}

TEST_F(DatasetsTest, CredentialsAreSealedAndNeverShown) {
  ASSERT_TRUE(datastores_.add(workspace_, web_store("https://host/data", "bearer hunter2")));
  const auto spec = datastores_.find(workspace_, "web");
  EXPECT_TRUE(spec->has_credentials);
  EXPECT_THAT(json::serialize(to_json(*spec)), Not(HasSubstr("hunter2")));
  std::string stored;
  ASSERT_TRUE(store_->read([&](store::Reader& reader) {
    return reader.query("SELECT credentials FROM datastores WHERE name = 'web'", {},
                        [&](const store::Row& row) { stored = row.text(0); });
  }));
  EXPECT_FALSE(stored.empty());
  EXPECT_THAT(stored, Not(HasSubstr("hunter2")));
  const auto access = datastores_.access(workspace_, {.kind = SourceKind::kHttp, .datastore = "web"});
  ASSERT_TRUE(access);
  EXPECT_EQ(access->headers.front().second.reveal(), "Bearer hunter2");
}

TEST_F(DatasetsTest, CredentialsDoNotGoOverPlainHttpToOthers) {
  EXPECT_FALSE(datastores_.add(workspace_, web_store("http://host/data", "bearer hunter2")));
  const auto odd = datastores_.add(workspace_, web_store("https://host/data", "hunter2"));
  ASSERT_FALSE(odd);
  EXPECT_THAT(odd.error().message + odd.error().next, Not(HasSubstr("hunter2")));
}

TEST(Credentials, BecomeHeaders) {
  EXPECT_EQ(parse_credentials(Secret("basic me:secret\n"))->front().second.reveal(), "Basic bWU6c2VjcmV0");
  const auto header = parse_credentials(Secret("header X-Key: a b"));
  EXPECT_EQ(header->front().first, "X-Key");
  EXPECT_EQ(header->front().second.reveal(), "a b");
  for (const char* text :
       {"", "bearer", "bearer a b", "basic me", "header X Y: z", "header X: a\nY: b", "other x"})
    EXPECT_FALSE(parse_credentials(Secret(text))) << text;
}

}  // namespace
}  // namespace slipway::data
