#include "environments/environment_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest.h"
#include "environments/lock_store.h"
#include "environments/resolution.h"
#include "environments/substitution_store.h"
#include "environments/substitutions.h"
#include "store/testing.h"

namespace slipway::environments {
namespace {

using testing::HasSubstr;

class EnvironmentStoreTest : public testing::Test {
 protected:
  template <class T>
  Result<T> in_writer(const std::function<Result<T>(store::Writer&)>& work) {
    Result<T> result = fail(ErrorCode::kInternal, "nothing ran");
    const Status written = store_->write([&](store::Writer& writer) -> Status {
      result = work(writer);
      if (!result) return fail(result.error());
      return {};
    });
    if (!written) return fail(written.error());
    return result;
  }

  Result<Registered> add(const std::string& name, const std::string& package) {
    Environment environment;
    environment.name = name;
    environment.definition.pip = {package};
    return in_writer<Registered>([&](store::Writer& writer) {
      return register_environment(writer, workspace_, environment, Timestamp{++now_});
    });
  }

  Result<Resolved> resolve(const std::string& text, Deleted deleted = Deleted::kHidden) {
    return in_writer<Resolved>(
        [&](store::Writer& writer) { return resolve_environment(writer, workspace_, text, deleted); });
  }

  Status remove(const EnvironmentReference& reference) {
    return store_->write([&](store::Writer& writer) {
      return delete_environment(writer, workspace_, reference, Timestamp{++now_});
    });
  }

  Result<StoredLock> take(const std::string& platform, const std::string& text) {
    StoredLock lock{.key = std::string(64, 'a'),
                    .platform = platform,
                    .builder = "uv",
                    .text = text,
                    .digest = Digest::of(text).hex(),
                    .created_at = {},
                    .current = true};
    return in_writer<StoredLock>(
        [&](store::Writer& writer) { return take_lock(writer, workspace_, lock, Timestamp{++now_}); });
  }

  store::TestStore store_;
  const WorkspaceName workspace_{"default"};
  int64_t now_ = 0;
};

TEST_F(EnvironmentStoreTest, TheSameDefinitionIsTheSameVersion) {
  EXPECT_EQ(add("tf", "numpy==1")->environment.version, 1);
  EXPECT_EQ(add("tf", "numpy==2")->environment.version, 2);
  const auto again = add("tf", "numpy==1");
  EXPECT_EQ(again->environment.version, 1);
  EXPECT_FALSE(again->made);
  EXPECT_EQ(add("other", "numpy==1")->environment.version, 1);
}

TEST_F(EnvironmentStoreTest, WithoutANameItIsAnonymousAndStaysOutOfLists) {
  EXPECT_EQ(add("", "numpy==1")->environment.reference(), "anonymous:1");
  EXPECT_EQ(add("", "numpy==1")->environment.reference(), "anonymous:1");
  EXPECT_EQ(add("", "numpy==2")->environment.reference(), "anonymous:2");
  EXPECT_EQ(resolve("anonymous:1")->environment.definition.pip.front(), "numpy==1");
  const auto listed = in_writer<std::vector<Environment>>(
      [&](store::Writer& writer) { return list_environments(writer, workspace_, "", 10); });
  EXPECT_TRUE(listed->empty());
}

TEST_F(EnvironmentStoreTest, ReservedNamesAreRefusedWithWhatToDo) {
  for (const char* name : {"AzureML-x", "microsoft-x", "curated/x"})
    EXPECT_THAT(add(name, "x").error().next, HasSubstr("clone it first")) << name;
  for (const char* name : {"system", "anonymous", "../x", "a b"}) EXPECT_FALSE(add(name, "x")) << name;
}

TEST_F(EnvironmentStoreTest, ADeletedVersionIsHiddenFromNewRunsOnly) {
  ASSERT_TRUE(add("tf", "numpy==1"));
  ASSERT_TRUE(add("tf", "numpy==2"));
  ASSERT_TRUE(remove({"tf", 2}));
  EXPECT_EQ(resolve("tf")->reference(), "tf:1");
  EXPECT_EQ(resolve("tf:2").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(resolve("tf:2", Deleted::kFound)->reference(), "tf:2");
  EXPECT_EQ(add("tf", "numpy==2")->environment.version, 3);
  ASSERT_TRUE(remove({"tf", 0}));
  EXPECT_THAT(resolve("tf").error().message, HasSubstr("'tf'"));
  EXPECT_FALSE(remove({"tf", 0}));
  EXPECT_FALSE(remove({"curated/base", 0}));
}

TEST_F(EnvironmentStoreTest, NamesResolveToExactVersions) {
  EXPECT_EQ(resolve("system")->reference(), "system");
  EXPECT_EQ(resolve("curated/tensorflow")->reference(), "curated/tensorflow:3");
  const auto azure = resolve("AzureML-TensorFlow-2.0-GPU");
  EXPECT_EQ(azure->reference(), "curated/tensorflow:2");
  EXPECT_THAT(azure->note, HasSubstr("AzureML-TensorFlow-2.0-GPU"));
  EXPECT_EQ(resolve("AzureML-VowpalWabbit").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(resolve("no/such").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(resolve("tf:0").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(EnvironmentStoreTest, TheFirstLockOfAKeyAndPlatformCounts) {
  EXPECT_EQ(take("linux", "numpy==1")->text, "numpy==1");
  EXPECT_EQ(take("linux", "numpy==2")->text, "numpy==1");
  EXPECT_EQ(take("other", "numpy==3")->text, "numpy==3");
}

TEST_F(EnvironmentStoreTest, ALockStaysUntilARebuildIsAskedForAndIsFoundAfterwards) {
  const std::string first = take("linux", "numpy==1")->digest;
  ASSERT_TRUE(in_writer<int64_t>(
      [&](store::Writer& writer) { return forget_locks(writer, workspace_, std::string(64, 'a')); }));
  EXPECT_EQ(take("linux", "numpy==2")->text, "numpy==2");
  const auto old = in_writer<std::optional<StoredLock>>(
      [&](store::Writer& writer) { return lock_of_digest(writer, workspace_, std::string(64, 'a'), first); });
  ASSERT_TRUE(old->has_value());
  EXPECT_EQ((*old)->text, "numpy==1");
  EXPECT_FALSE((*old)->current);
}

TEST_F(EnvironmentStoreTest, ABadLockIsRefused) {
  EXPECT_FALSE(lock_from_json({{"key", "x"}, {"platform", "p"}, {"builder", "uv"}, {"lock", ""}}));
  EXPECT_FALSE(
      lock_from_json({{"key", std::string(64, 'a')}, {"platform", "a b"}, {"builder", "uv"}, {"lock", ""}}));
  EXPECT_TRUE(
      lock_from_json({{"key", std::string(64, 'a')}, {"platform", "p"}, {"builder", "uv"}, {"lock", "x"}}));
}

TEST_F(EnvironmentStoreTest, RulesOfTheWorkspaceComeBeforeTheDefaultsWhichCanBeTakenAway) {
  const auto change = [&](auto work) {
    return store_->write([&](store::Writer& writer) { return work(writer); });
  };
  const auto rules = [&] {
    return *in_writer<std::vector<Substitution>>(
        [&](store::Writer& writer) { return list_substitutions(writer, workspace_); });
  };
  EXPECT_EQ(rules(), default_substitutions());
  const Substitution rule{"package", "tensorflow-gpu", "tensorflow-cpu"};
  const std::string before = resolve("curated/base")->key;
  ASSERT_TRUE(change([&](store::Writer& writer) { return add_substitution(writer, workspace_, rule); }));
  EXPECT_EQ(rules().front(), rule);
  ASSERT_TRUE(change([&](store::Writer& writer) {
    return remove_substitution(writer, workspace_, "package", "azureml-*");
  }));
  EXPECT_EQ(rules().size(), 2U);
  EXPECT_NE(resolve("curated/base")->key, before);
  EXPECT_FALSE(change([&](store::Writer& writer) {
    return remove_substitution(writer, workspace_, "package", "azureml-*");
  }));
  ASSERT_TRUE(change([&](store::Writer& writer) {
    return add_substitution(writer, workspace_, default_substitutions().front());
  }));
  EXPECT_EQ(rules().size(), 3U);
  EXPECT_FALSE(change(
      [&](store::Writer& writer) { return add_substitution(writer, workspace_, {"python", "old", "3.8"}); }));
}

}  // namespace
}  // namespace slipway::environments
