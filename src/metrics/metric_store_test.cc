#include "metrics/metric_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "store/testing.h"

namespace slipway::metrics {
namespace {

using journal::MetricPoint;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class MetricStoreTest : public testing::Test {
 protected:
  size_t append(const RunId& run, const std::vector<MetricPoint>& points) {
    size_t left_out = 0;
    const Status appended = store_->write([&](store::Writer& writer) -> Status {
      SLIPWAY_ASSIGN(left_out, metrics_->append(writer, run, points));
      return {};
    });
    EXPECT_TRUE(appended) << (appended ? "" : appended.error().detail);
    return left_out;
  }
  static MetricPoint point(std::string name, int64_t step, double value) {
    return {.name = std::move(name), .step = step, .time = {1000 + step}, .value = value};
  }
  std::vector<double> values(const std::string& name) {
    std::vector<double> found;
    for (const StoredPoint& stored : *metrics_->points(run_, name, 0, 1000)) found.push_back(stored.value);
    return found;
  }
  Summary summary(const std::string& name) {
    for (const Summary& each : *metrics_->summaries(run_, "", 1000))
      if (each.name == name) return each;
    ADD_FAILURE() << "no summary of " << name;
    return {};
  }

  store::TestStore store_;
  std::unique_ptr<MetricStore> metrics_ = make_sql_metric_store(store_.database());
  const RunId run_{"digits-1"};
  const RunId other_{"digits-2"};
};

TEST_F(MetricStoreTest, GivesPointsBackInTheirOrder) {
  append(run_, {point("loss", 1, 0.5), point("acc", 1, 0.9), point("loss", 2, 0.25)});
  append(other_, {point("loss", 1, 7)});
  append(run_, {point("loss", 3, 0.125)});
  EXPECT_THAT(values("loss"), ElementsAre(0.5, 0.25, 0.125));
  const auto points = metrics_->points(run_, "loss", 0, 10);
  EXPECT_EQ((*points)[1].step, 2);
  EXPECT_EQ((*points)[1].time, Timestamp{1002});
  EXPECT_EQ((*points)[1].name, "loss");
}

TEST_F(MetricStoreTest, PagesByPosition) {
  for (int i = 0; i < 10; ++i) append(run_, {point("loss", i, i), point("acc", i, -i)});
  std::vector<double> seen;
  int64_t after = 0;
  while (true) {
    const auto page = metrics_->points(run_, "loss", after, 3);
    if (page->empty()) break;
    EXPECT_LE(page->size(), 3U);
    for (const StoredPoint& stored : *page) seen.push_back(stored.value);
    after = page->back().position;
  }
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(MetricStoreTest, StreamsAllOfARunsMetricsAndResumesAfterAPosition) {
  append(run_, {point("loss", 1, 1), point("acc", 1, 2)});
  append(other_, {point("loss", 1, 99)});
  append(run_, {point("loss", 2, 3)});
  const auto first = metrics_->points_after(run_, 0, 2);
  ASSERT_EQ(first->size(), 2U);
  EXPECT_EQ((*first)[1].name, "acc");
  const auto rest = metrics_->points_after(run_, first->back().position, 10);
  ASSERT_EQ(rest->size(), 1U);
  EXPECT_EQ(rest->front().value, 3);
  EXPECT_THAT(*metrics_->points_after(run_, rest->back().position, 10), IsEmpty());
}

TEST_F(MetricStoreTest, KeepsEveryDouble) {
  const std::vector<double> all = {0.0,
                                   -0.0,
                                   1.0,
                                   0.1,
                                   kNan,
                                   kInfinity,
                                   -kInfinity,
                                   std::numeric_limits<double>::max(),
                                   std::numeric_limits<double>::denorm_min(),
                                   -1.5e-310,
                                   9007199254740993.0};
  for (size_t i = 0; i < all.size(); ++i) append(run_, {point("x", static_cast<int64_t>(i), all[i])});
  const std::vector<double> found = values("x");
  ASSERT_EQ(found.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(std::signbit(found[i]), std::signbit(all[i])) << i;
    if (std::isnan(all[i])) {
      EXPECT_TRUE(std::isnan(found[i]));
    } else {
      EXPECT_EQ(found[i], all[i]) << i;
    }
  }
}

TEST_F(MetricStoreTest, SumsUpEachMetric) {
  append(run_, {point("loss", 1, 3), point("loss", 2, kNan), point("acc", 1, 0.5)});
  append(run_, {point("loss", 3, -2), point("loss", 4, kInfinity)});
  const Summary loss = summary("loss");
  EXPECT_EQ(loss.count, 4);
  EXPECT_EQ(loss.last_step, 4);
  EXPECT_EQ(loss.last_value, kInfinity);
  EXPECT_EQ(loss.min, -2);
  EXPECT_EQ(loss.max, 3);
  EXPECT_EQ(summary("acc").count, 1);
}

TEST_F(MetricStoreTest, HasNoLeastAndNoGreatestWithoutAFiniteValue) {
  append(run_, {point("x", 1, kNan)});
  EXPECT_EQ(summary("x").min, std::nullopt);
  EXPECT_EQ(summary("x").max, std::nullopt);
  EXPECT_TRUE(std::isnan(summary("x").last_value));
  append(run_, {point("x", 2, 5)});
  append(run_, {point("x", 3, kNan)});
  EXPECT_EQ(summary("x").min, 5);
  EXPECT_EQ(summary("x").max, 5);
}

TEST_F(MetricStoreTest, ListsSummariesByNamePageByPage) {
  for (const char* name : {"b", "a", "c"}) append(run_, {point(name, 1, 1)});
  const auto first = metrics_->summaries(run_, "", 2);
  ASSERT_EQ(first->size(), 2U);
  EXPECT_EQ(first->back().name, "b");
  const auto rest = metrics_->summaries(run_, "b", 2);
  ASSERT_EQ(rest->size(), 1U);
  EXPECT_EQ(rest->front().name, "c");
}

TEST_F(MetricStoreTest, TakesAnyTextAsANameAndLeavesBadOnesOut) {
  const std::string longest(1024, 'n');
  const std::vector<std::string> good = {"..",
                                         "a/b",
                                         "../../etc/passwd",
                                         "Verlust (%)",
                                         "\xe6\x90\x8d\xe5\xa4\xb1",
                                         longest,
                                         "'; DROP TABLE metric_points; --",
                                         "\xf0\x9f\x9a\xa2"};
  const std::vector<std::string> bad = {"",
                                        longest + "n",
                                        std::string(10'000, 'x'),
                                        "a\nb",
                                        std::string("a\0b", 3),
                                        "\x1b[31m",
                                        "\xff",
                                        "\xc3",
                                        "\xc0\xaf",
                                        "\xed\xa0\x80",
                                        "\xc2\x85",
                                        "\x7f"};
  std::vector<MetricPoint> points;
  for (const auto& names : {good, bad})
    for (const std::string& name : names) points.push_back(point(name, 1, 1));
  EXPECT_EQ(append(run_, points), bad.size());
  for (const std::string& name : good) {
    EXPECT_TRUE(check_metric_name(name)) << name;
    EXPECT_THAT(values(name), ElementsAre(1)) << name;
  }
  for (const std::string& name : bad)
    EXPECT_EQ(check_metric_name(name).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(metrics_->summaries(run_, "", 100)->size(), good.size());
}

TEST_F(MetricStoreTest, KeepsOtherValuesAndWhereTheyStandAmongTheNumbers) {
  const auto text = [](std::string name, std::string document) {
    return journal::LoggedValue{.name = std::move(name),
                                .kind = journal::ValueKind::kString,
                                .step = 4,
                                .time = {7},
                                .document = std::move(document)};
  };
  ASSERT_TRUE(store_->write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(
        const size_t left_out,
        append_entries(*metrics_, writer, run_,
                       {point("x", 1, 1), text("x", "\"a\""), text("only", "\"b\""), point("x", 2, 2),
                        point("x", 3, 3), text("x", "\"c\""), text("", "\"\"")}));
    EXPECT_EQ(left_out, 1U);
    return {};
  }));
  const auto values = metrics_->values(run_, "x", 0, 10);
  ASSERT_EQ(values->size(), 2U);
  EXPECT_EQ(values->front().points_before, 1);
  EXPECT_EQ(values->back().points_before, 3);
  EXPECT_EQ(values->back().value.document, "\"c\"");
  EXPECT_EQ(values->back().value.step, 4);
  EXPECT_EQ(metrics_->values(run_, "x", values->front().position, 10)->size(), 1U);
  EXPECT_EQ(metrics_->values(run_, "", 0, 10)->size(), 3U);
  EXPECT_EQ(summary("x").value_count, 2);
  EXPECT_EQ(summary("x").last_kind, "string");
  EXPECT_EQ(summary("only").count, 0);
  append(run_, {point("only", 9, -1)});
  EXPECT_EQ(summary("only").last_kind, "number");
  EXPECT_EQ(summary("only").min, -1);
  EXPECT_EQ(summary("only").last_step, 9);
}

TEST_F(MetricStoreTest, KeepsNothingOfATransactionThatFails) {
  EXPECT_FALSE(store_->write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const size_t left_out, metrics_->append(writer, run_, {point("loss", 1, 1)}));
    EXPECT_EQ(left_out, 0U);
    return fail(ErrorCode::kStale, "fenced");
  }));
  EXPECT_THAT(values("loss"), IsEmpty());
  EXPECT_THAT(*metrics_->summaries(run_, "", 10), IsEmpty());
}

TEST_F(MetricStoreTest, KeepsResourceSamples) {
  ASSERT_TRUE(store_->write([&](store::Writer& writer) -> Status {
    SLIPWAY_TRY(metrics_->append_sample(writer, run_, 0, {5}, R"({"cpu_percent":50})"));
    SLIPWAY_TRY(metrics_->append_sample(writer, other_, 0, {6}, "{}"));
    return metrics_->append_sample(writer, run_, 1, {7}, R"({"cpu_percent":70})");
  }));
  const auto samples = metrics_->samples(run_, 0, 10);
  ASSERT_EQ(samples->size(), 2U);
  EXPECT_EQ((*samples)[1].rank, 1);
  EXPECT_EQ((*samples)[1].time, Timestamp{7});
  EXPECT_EQ((*samples)[1].sample, R"({"cpu_percent":70})");
  EXPECT_EQ(metrics_->samples(run_, samples->front().position, 10)->size(), 1U);
}

TEST_F(MetricStoreTest, ForgetsARunAndNoOther) {
  append(run_, {point("loss", 1, 1)});
  append(other_, {point("loss", 1, 2)});
  ASSERT_TRUE(store_->write([&](store::Writer& writer) -> Status {
    SLIPWAY_TRY(metrics_->append_sample(writer, run_, 0, {5}, "{}"));
    return metrics_->delete_run(writer, run_);
  }));
  EXPECT_THAT(values("loss"), IsEmpty());
  EXPECT_THAT(*metrics_->summaries(run_, "", 10), IsEmpty());
  EXPECT_THAT(*metrics_->samples(run_, 0, 10), IsEmpty());
  EXPECT_EQ(metrics_->points(other_, "loss", 0, 10)->size(), 1U);
}

TEST(MetricValue, GoesThroughJson) {
  for (const double value : {0.0, 0.1, -1.5, 1e300}) EXPECT_EQ(*value_from_json(value_to_json(value)), value);
  EXPECT_EQ(value_to_json(kNan).as_string(), "NaN");
  EXPECT_EQ(value_to_json(-kInfinity).as_string(), "-Infinity");
  EXPECT_TRUE(std::isnan(*value_from_json("NaN")));
  EXPECT_EQ(*value_from_json("Infinity"), kInfinity);
  EXPECT_EQ(*value_from_json(json::value(7)), 7);
  EXPECT_TRUE(std::signbit(*value_from_json(value_to_json(-0.0))));
}

TEST(MetricValue, IsNoOtherText) {
  for (const json::value& bad : {json::value("nan"), json::value("1.5"), json::value("-0"),
                                 json::value(nullptr), json::value(true), json::value(json::array{1})})
    EXPECT_FALSE(value_from_json(bad));
}

}  // namespace
}  // namespace slipway::metrics
