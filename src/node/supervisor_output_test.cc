// What a job writes and says, and what of it is kept.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cmath>

#include "node/supervisor_fixture.h"
#include "node/supervisor_logs.h"

namespace slipway::node {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class SupervisorOutput : public SupervisorFixture {};

TEST_F(SupervisorOutput, IsKeptByteForByte) {
  python(
      "import os\n"
      "os.write(1, b'a\\0b\\xff\\xfe\\x1b[31m no newline')\n"
      "os.write(2, b'\\x80err')\n");
  const Account seen = run();
  EXPECT_EQ(seen.standard_out, std::string("a\0b\xff\xfe\x1b[31m no newline", 21));
  EXPECT_EQ(seen.standard_error,
            "\x80"
            "err");
  EXPECT_EQ(seen.logs.size(), 1U) << "both are std_log.txt";
}

TEST_F(SupervisorOutput, IsKeptWholeWhenItIsLarge) {
  shell("head -c 50000000 /dev/zero | tr '\\0' 'x'; echo end");
  const Account seen = run();
  EXPECT_EQ(seen.standard_out.size(), 50'000'004U);
  EXPECT_EQ(seen.standard_out.find_first_not_of('x'), 50'000'000U);
}

TEST_F(SupervisorOutput, StopsAtTheQuotaWithAMarkAndTheJobGoesOn) {
  spec_.log_quota_bytes = 100'000;
  shell("head -c 3000000 /dev/zero | tr '\\0' 'x'; echo late >&2; touch went-on; exit 3");
  const Account seen = run();
  EXPECT_EQ(seen.logs.at("std_log.txt").size(), 100'000U);
  EXPECT_EQ(seen.exit->code, 3);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "work/went-on"));
  uint64_t dropped = 0;
  for (const json::object& mark : seen.marks) {
    EXPECT_EQ(mark.at("stream").as_string(), "std_log.txt");
    EXPECT_THAT(std::string(mark.at("why").as_string()), HasSubstr("quota"));
    dropped += static_cast<uint64_t>(mark.at("dropped_bytes").as_int64());
  }
  EXPECT_EQ(dropped, 3'000'005U - 100'000U);
  EXPECT_LE(seen.marks.size(), 2U);
}

TEST_F(SupervisorOutput, GoesOnWhenTheDiskIsFullAndSaysWhatWasLost) {
  ASSERT_EQ(::getuid(), 0U) << "mounting needs root: run it as root";
  const std::string small = (folder_ / "journal").string();
  std::filesystem::create_directory(small);
  ASSERT_EQ(std::system(("mount -t tmpfs -o size=2m slipway-test " + small).c_str()), 0)
      << "mounting needs root: run it as root";
  shell(
      "head -c 5000000 /dev/zero | tr '\\0' 'x'; echo full >&2; "
      "while [ ! -e go ]; do sleep 0.05; done; sleep 1.2; echo after; exit 3");
  start();
  // The job itself shows that it was not stopped; then space comes back.
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(std::system(("mount -o remount,size=64m " + small).c_str()), 0);
  std::ofstream(folder_ / "work/go") << "";
  EXPECT_EQ(wait(), 0);
  const Account seen = account();
  EXPECT_EQ(std::system(("umount " + small).c_str()), 0);
  ASSERT_TRUE(seen.exit);
  EXPECT_EQ(seen.exit->code, 3);
  EXPECT_THAT(seen.standard_out, HasSubstr("after"));
  uint64_t dropped = 0;
  for (const json::object& mark : seen.marks) {
    EXPECT_THAT(std::string(mark.at("why").as_string()), HasSubstr("full"));
    dropped += static_cast<uint64_t>(mark.at("dropped_bytes").as_int64());
  }
  EXPECT_GT(dropped, 2'000'000U);
  EXPECT_EQ(dropped + seen.logs.at("std_log.txt").size(), 5'000'000U + 5 + 6)
      << "every byte is there or accounted for";
}

TEST_F(SupervisorOutput, FollowsFilesBelowLogs) {
  shell(
      "echo one > logs/a.log; mkdir -p logs/deep/er; echo two > logs/deep/er/b.log; echo ready; "
      "while [ ! -e go ]; do sleep 0.02; done; echo three >> logs/a.log; printf 'a\\0b' > logs/bytes");
  start();
  wait_until([](const Account& seen) {
    return seen.logs.contains("logs/a.log") && seen.logs.contains("logs/deep/er/b.log");
  });
  std::ofstream(folder_ / "work/go") << "";
  EXPECT_EQ(wait(), 0);
  const Account seen = account();
  EXPECT_EQ(seen.logs.at("logs/a.log"), "one\nthree\n");
  EXPECT_EQ(seen.logs.at("logs/deep/er/b.log"), "two\n");
  EXPECT_EQ(seen.logs.at("logs/bytes"), std::string("a\0b", 3));
}

TEST_F(SupervisorOutput, FollowsALogThroughRotationAndTruncation) {
  shell(
      "echo one > logs/a.log; while [ ! -e go1 ]; do sleep 0.02; done; "
      "echo two >> logs/a.log; mv logs/a.log logs/a.log.1; echo three > logs/a.log; "
      "while [ ! -e go2 ]; do sleep 0.02; done; echo 4 > logs/a.log; "
      "while [ ! -e go3 ]; do sleep 0.02; done");
  start();
  const auto wait_for = [&](const std::string& text) {
    wait_until([&](const Account& seen) {
      const auto found = seen.logs.find("logs/a.log");
      return found != seen.logs.end() && found->second == text;
    });
  };
  wait_for("one\n");
  std::ofstream(folder_ / "work/go1") << "";
  wait_until([&](const Account& seen) { return seen.logs.at("logs/a.log").size() >= 14; });
  std::ofstream(folder_ / "work/go2") << "";
  wait_until([&](const Account& seen) { return seen.logs.at("logs/a.log").size() >= 16; });
  std::ofstream(folder_ / "work/go3") << "";
  EXPECT_EQ(wait(), 0);
  const Account seen = account();
  EXPECT_THAT(seen.logs.at("logs/a.log"), ::testing::AnyOf("one\ntwo\nthree\n4\n", "one\nthree\ntwo\n4\n"));
  EXPECT_FALSE(seen.logs.contains("logs/a.log.1")) << "what was sent is not sent again under its new name";
}

TEST_F(SupervisorOutput, FollowsNoLinksAndNoFifos) {
  shell(
      "echo secret > secret; ln -s ../secret logs/link; ln -s / logs/root; mkfifo logs/fifo; "
      "ln -s . logs/loop; echo fine > logs/plain");
  const Account seen = run();
  EXPECT_EQ(seen.logs.size(), 1U);
  EXPECT_EQ(seen.logs.at("logs/plain"), "fine\n");
}

TEST_F(SupervisorOutput, BoundsTheFilesItFollows) {
  python(
      "for i in range(1100):\n"
      "  open(f'logs/{i}', 'w').write('x')\n");
  const Account seen = run();
  EXPECT_EQ(seen.logs.size(), LogFollower::kMaxFiles);
  EXPECT_FALSE(seen.marks.empty());
}

TEST(LogStreamName, IsAlwaysCleanText) {
  EXPECT_EQ(log_stream_name("a/b.log"), "logs/a/b.log");
  EXPECT_EQ(log_stream_name("\xc3\xa9"), "logs/\xc3\xa9");
  EXPECT_EQ(log_stream_name("\xff\x1b%\\"), "logs/%FF%1B%25%5C");
}

constexpr const char* kSend =
    "import os, socket, json\n"
    "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
    "s.connect(os.environ['SLIPWAY_SOCKET'])\n"
    "say = lambda m: s.send(m if isinstance(m, bytes) else json.dumps(m).encode())\n";

TEST_F(SupervisorOutput, TakesMetricsTagsAndFiles) {
  python(std::string(kSend) +
         "say({'metrics': {'loss': 0.5, 'bad': 'NaN'}, 'step': 1})\n"
         "say({'metrics': {'..': '-Infinity', '\\u00e9': -0.0}, 'step': 2, 'time': 77})\n"
         "say({'tags': {'who': 'me'}})\n"
         "say({'file': 'outputs/plot.png'})\n"
         "say({'image': {'name': 'p', 'path': 'outputs/p.png', 'step': 3}})\n");
  const Account seen = run();
  ASSERT_EQ(seen.points.size(), 4U) << seen.standard_error;
  EXPECT_EQ(seen.points[0].name, "loss");
  EXPECT_EQ(seen.points[0].value, 0.5);
  EXPECT_GT(seen.points[0].time.micros, 1'000'000'000'000'000);
  EXPECT_TRUE(std::isnan(seen.points[1].value));
  EXPECT_TRUE(std::isinf(seen.points[2].value));
  EXPECT_EQ(seen.points[2].time.micros, 77);
  EXPECT_TRUE(std::signbit(seen.points[3].value));
  EXPECT_EQ(seen.tags.at("who"), "me");
  ASSERT_EQ(seen.files.size(), 2U);
  EXPECT_EQ(seen.files[0].at("path").as_string(), "outputs/plot.png");
  EXPECT_EQ(seen.files[1].at("path").as_string(), "outputs/p.png");
  ASSERT_EQ(seen.values.size(), 1U);
  EXPECT_EQ(seen.values[0].name, "p");
  EXPECT_EQ(seen.values[0].kind, journal::ValueKind::kImage);
  EXPECT_EQ(seen.values[0].step, 3);
  EXPECT_TRUE(seen.marks.empty());
}

TEST_F(SupervisorOutput, TakesValuesFromMessagesAndFromFilesInTheirOrder) {
  python(std::string(kSend) +
         "open('v.json', 'w').write(json.dumps([{'name': 'n', 'value': 2}, "
         "{'name': 't', 'kind': 'string', 'value': 'x' * 100000}]))\n"
         "say({'values': [{'name': 'n', 'value': 1}, {'name': 'r', 'kind': 'row', 'value': {'a': 1}}]})\n"
         "say({'values_file': 'v.json'})\n"
         "say({'properties': {'data': 'mnist:2'}})\n");
  const Account seen = run();
  ASSERT_EQ(seen.points.size(), 2U) << seen.standard_error;
  EXPECT_EQ(seen.points[1].value, 2);
  ASSERT_EQ(seen.values.size(), 2U);
  EXPECT_EQ(seen.values[0].document, R"({"a":1})");
  EXPECT_EQ(seen.values[1].document.size(), 100'002U);
  EXPECT_EQ(seen.properties.at("data"), "mnist:2");
  EXPECT_FALSE(std::filesystem::exists(spec_.work + "/v.json"));
  EXPECT_TRUE(seen.marks.empty());
}

TEST_F(SupervisorOutput, ReadsNoValuesFileThatIsALinkAFolderOrTooLarge) {
  python(std::string(kSend) +
         "os.symlink('/etc/passwd', 'link.json')\nos.mkdir('folder.json')\nos.mkfifo('pipe.json')\n"
         "open('large.json', 'w').truncate(17 << 20)\n"
         "for name in ('link', 'folder', 'pipe', 'large', 'none'): say({'values_file': name + '.json'})\n"
         "say({'metrics': {'good': 1}})\n");
  const Account seen = run();
  EXPECT_EQ(seen.points.size(), 1U) << seen.standard_error;
  EXPECT_TRUE(seen.values.empty());
  ASSERT_EQ(seen.marks.size(), 2U);
  EXPECT_THAT(std::string(seen.marks[1].at("why").as_string()), HasSubstr("5 messages"));
}

TEST_F(SupervisorOutput, SaysOnceThatMessagesWereRefused) {
  python(std::string(kSend) +
         "for i in range(100): say(b'nonsense')\n"
         "say({'metrics': {'': 1}})\n"
         "say({'metrics': {'x' * 10240: 1}})\n"
         "say({'file': '../../etc/passwd'})\n"
         "say({'metrics': {'good': 1}})\n");
  const Account seen = run();
  EXPECT_EQ(seen.points.size(), 1U) << seen.standard_error;
  EXPECT_TRUE(seen.files.empty());
  ASSERT_EQ(seen.marks.size(), 2U);
  EXPECT_THAT(std::string(seen.marks[1].at("why").as_string()), HasSubstr("103 messages"));
}

TEST_F(SupervisorOutput, LosesNoMetricThatWasSent) {
  python(std::string(kSend) +
         "for i in range(20000): say({'metrics': {'m': i}, 'step': i})\n"
         "os._exit(0)\n");
  const Account seen = run();
  ASSERT_EQ(seen.points.size(), 20'000U);
  for (size_t i = 0; i < seen.points.size(); ++i) ASSERT_EQ(seen.points[i].step, static_cast<int64_t>(i));
}

}  // namespace
}  // namespace slipway::node
