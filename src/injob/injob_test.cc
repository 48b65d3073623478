#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/fd.h"
#include "injob/log_sender.h"
#include "injob/message.h"
#include "injob/slipway_log.h"

namespace slipway::injob {
namespace {

std::string refusal(std::string_view text) {
  Message message;
  const Status status = parse_message(text, {5}, message);
  EXPECT_TRUE(status || (message.points.empty() && message.tags.empty() && !message.file));
  return status ? "taken" : status.error().message;
}

TEST(Message, TakesMetricsWithStepAndTime) {
  Message message;
  ASSERT_TRUE(parse_message(R"({"metrics":{"loss":0.5,"n":3},"step":7,"time":99})", {5}, message));
  ASSERT_TRUE(parse_message(R"({"metrics":{"..":-0.0},"step":8.0})", {5}, message));
  ASSERT_EQ(message.points.size(), 3U);
  EXPECT_EQ(message.points[0].name, "loss");
  EXPECT_EQ(message.points[0].value, 0.5);
  EXPECT_EQ(message.points[0].step, 7);
  EXPECT_EQ(message.points[0].time.micros, 99);
  EXPECT_EQ(message.points[1].value, 3);
  EXPECT_EQ(message.points[2].step, 8);
  EXPECT_EQ(message.points[2].time.micros, 5);
  EXPECT_TRUE(std::signbit(message.points[2].value));
}

TEST(Message, TakesNanAndInfinitiesAsText) {
  Message message;
  ASSERT_TRUE(
      parse_message(R"({"metrics":{"a":"NaN","b":"Infinity","c":"-Infinity","d":1e400}})", {5}, message));
  EXPECT_TRUE(std::isnan(message.points[0].value));
  EXPECT_EQ(message.points[1].value, std::numeric_limits<double>::infinity());
  EXPECT_EQ(message.points[2].value, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(message.points[3].value, std::numeric_limits<double>::infinity());
}

TEST(Message, RefusesOddNamesAndValuesAsAWhole) {
  EXPECT_NE(refusal(R"({"metrics":{"good":1,"":2}})"), "taken");
  EXPECT_NE(refusal(R"({"metrics":{")" + std::string(10'000, 'x') + R"(":2}})"), "taken");
  EXPECT_NE(refusal("{\"metrics\":{\"a\\u0000b\":2}}"), "taken");
  EXPECT_EQ(refusal("{\"metrics\":{\"\xf0\x9f\x9a\xa2\":2}}"), "taken");
  EXPECT_EQ(refusal(R"({"metrics":{"a":"high"}})"), "the metric 'a' is no number");
  EXPECT_NE(refusal(R"({"metrics":{"a":1},"step":1.5})"), "taken");
  EXPECT_NE(refusal(R"({"tags":{"a":1}})"), "taken");
  EXPECT_NE(refusal(R"({"file":"../../etc/passwd"})"), "taken");
  EXPECT_NE(refusal(R"({"file":"/etc/passwd"})"), "taken");
  EXPECT_NE(refusal(R"({"image":{"name":"x","path":"../a"}})"), "taken");
  EXPECT_NE(refusal("[]"), "taken");
  EXPECT_NE(refusal("{"), "taken");
  EXPECT_NE(refusal(""), "taken");
  EXPECT_NE(refusal(std::string(100'000, '[')), "taken");
  EXPECT_NE(refusal(std::string(1000, '[')), "taken");
}

TEST(Message, TakesTagsFilesAndImages) {
  Message message;
  ASSERT_TRUE(parse_message(R"({"tags":{"k":"v","e":""}})", {5}, message));
  ASSERT_TRUE(parse_message(R"({"image":{"name":"plot","path":"outputs/p.png","step":3}})", {5}, message));
  EXPECT_EQ(message.tags.at("k"), "v");
  EXPECT_EQ(message.file->image, "plot");
  EXPECT_EQ(message.file->step, 3);
  ASSERT_TRUE(parse_message(R"({"file":"outputs/x"})", {5}, message));
  EXPECT_EQ(message.file->path, "outputs/x");
}

TEST(Message, TakesValuesInTheirOrderAndProperties) {
  Message message;
  ASSERT_TRUE(parse_message(R"({"properties":{"data":"mnist:2"}})", {5}, message));
  EXPECT_EQ(message.properties.at("data"), "mnist:2");
  ASSERT_TRUE(parse_message(
      R"({"values":[{"name":"l","value":1},{"name":"l","kind":"string","value":"NaN"},{"name":"l","value":"NaN"}]})",
      {5}, message));
  ASSERT_EQ(message.entries.size(), 3U);
  EXPECT_EQ(std::get<journal::MetricPoint>(message.entries[0]).value, 1);
  EXPECT_EQ(std::get<journal::LoggedValue>(message.entries[1]).document, "\"NaN\"");
  EXPECT_EQ(std::get<journal::LoggedValue>(message.entries[1]).time.micros, 5);
  EXPECT_TRUE(std::isnan(std::get<journal::MetricPoint>(message.entries[2]).value));
  ASSERT_TRUE(parse_message(R"({"values_file":"v.json"})", {5}, message));
  EXPECT_EQ(message.values_file, "v.json");
}

TEST(Message, RefusesValuesFilesElsewhereAndListsWithOneBadValue) {
  EXPECT_NE(refusal(R"({"values_file":"../v.json"})"), "taken");
  EXPECT_NE(refusal(R"({"values_file":"outputs/v.json"})"), "taken");
  EXPECT_NE(refusal(R"({"values":{"name":"a","value":1}})"), "taken");
  EXPECT_NE(refusal(R"({"properties":{"a":1}})"), "taken");
  Message message;
  EXPECT_FALSE(
      parse_message(R"({"values":[{"name":"a","value":1},{"name":"a","kind":"what"}]})", {}, message));
  EXPECT_TRUE(message.entries.empty());
}

TEST(RowArgument, IsANameAndColumns) {
  const auto row = parse_row_argument("epoch=loss:0.1,phase:warm up,at:12:30");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->name, "epoch");
  ASSERT_EQ(row->cells.size(), 3U);
  EXPECT_EQ(row->cells[1].second, "warm up");
  EXPECT_EQ(row->cells[2].second, "12:30");
  for (const char* bad : {"epoch", "=a:1", "epoch=", "epoch=a", "epoch=:1", "epoch=a:1,"})
    EXPECT_FALSE(parse_row_argument(bad)) << bad;
}

TEST(MetricArgument, IsANameAndANumber) {
  EXPECT_EQ(parse_metric_argument("loss=0.12")->second, 0.12);
  EXPECT_EQ(parse_metric_argument("a=b=-3")->first, "a=b");
  EXPECT_EQ(parse_metric_argument("x=1e400")->second, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(parse_metric_argument("x=NaN")->second));
  EXPECT_TRUE(std::isinf(parse_metric_argument("x=-inf")->second));
  EXPECT_FALSE(parse_metric_argument("loss"));
  EXPECT_FALSE(parse_metric_argument("=1"));
  EXPECT_FALSE(parse_metric_argument("loss="));
  EXPECT_FALSE(parse_metric_argument("loss=1x"));
}

// The client connects once in a process: one test does all of it, outside a run and then inside.
TEST(Client, SaysNothingOutsideARunAndWhatItIsToldInside) {
  ::unsetenv("SLIPWAY_SOCKET");
  EXPECT_EQ(send_tag("a", "b").error().code, ErrorCode::kUnavailable);

  char folder[] = "/tmp/slipway-injob-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/run.sock";
  const UniqueFd receiver(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(receiver.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::setenv("SLIPWAY_SOCKET", path.c_str(), 1);

  EXPECT_TRUE(slipway::log("lo\"ss\n", 0.1, -2));
  EXPECT_TRUE(slipway::log({{"one", 1}, {"two", 2}}, 3));
  EXPECT_TRUE(slipway::log_tag("k", "v\\"));
  EXPECT_TRUE(slipway::log_image("plot", "outputs/p.png", 4));
  EXPECT_TRUE(send_metrics({{"a", std::nan("")}, {"b", -std::numeric_limits<double>::infinity()}}, 9));
  EXPECT_TRUE(send_file("outputs/f"));
  EXPECT_FALSE(send_file("../f"));
  Message message;
  for (int i = 0; i < 6; ++i) {
    char buffer[1000];
    const ssize_t size = ::recv(receiver.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    ASSERT_GT(size, 0);
    const std::string_view text(buffer, static_cast<size_t>(size));
    ASSERT_TRUE(parse_message(text, {1}, message)) << text;
  }
  ASSERT_EQ(message.points.size(), 5U);
  EXPECT_EQ(message.points[2].value, 2);
  EXPECT_EQ(message.points[0].name, "lo\"ss\n");
  EXPECT_EQ(message.points[0].value, 0.1);
  EXPECT_EQ(message.points[0].step, -2);
  EXPECT_TRUE(std::isnan(message.points[3].value));
  EXPECT_TRUE(std::isinf(message.points[4].value));
  EXPECT_EQ(message.tags.at("k"), "v\\");
  EXPECT_EQ(message.file->path, "outputs/f");
  ::unsetenv("SLIPWAY_SOCKET");
  ::unlink(path.c_str());
  ::rmdir(folder);
}

}  // namespace
}  // namespace slipway::injob
