#include "compute/engines/slurm/array_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::compute {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Scanned {
  std::vector<std::string> elements;
  std::string rest;
  bool complete = false;
  bool good = true;
};

// In pieces of that many bytes.
Scanned scan(std::string_view text, size_t piece, std::string_view field = "jobs") {
  Scanned scanned;
  const std::function<void(std::string_view)> take = [&](std::string_view element) {
    scanned.elements.emplace_back(element);
  };
  ArrayScanner scanner(field, take);
  for (size_t at = 0; at < text.size(); at += piece)
    if (!scanner.feed(text.substr(at, piece))) scanned.good = false;
  scanned.rest = scanner.rest();
  scanned.complete = scanner.complete();
  return scanned;
}

TEST(ArrayScanner, HandsOutEachElementHoweverTheBytesCome) {
  constexpr std::string_view kText =
      R"({"meta": {"jobs": [{"no": 1}]}, "errors": [], "jobs": [ {"a": "}]\"{", "b": [{"c": {}}]}, {"d": "\\"} ], "e": 2})";
  for (size_t piece = 1; piece <= kText.size(); ++piece) {
    const Scanned scanned = scan(kText, piece);
    EXPECT_THAT(scanned.elements, ElementsAre(R"({"a": "}]\"{", "b": [{"c": {}}]})", R"({"d": "\\"})"))
        << piece;
    EXPECT_EQ(scanned.rest, R"({"meta": {"jobs": [{"no": 1}]}, "errors": [], "jobs": [], "e": 2})") << piece;
    EXPECT_TRUE(scanned.complete && scanned.good);
  }
}

TEST(ArrayScanner, EmptyAndMissingArraysHaveNoElements) {
  EXPECT_THAT(scan(R"({"jobs": []})", 3).elements, IsEmpty());
  EXPECT_THAT(scan(R"({"others": [{"a": 1}]})", 3).elements, IsEmpty());
  EXPECT_THAT(scan(R"({"jobs": {"jobs": [{"a": 1}]}})", 3).elements, IsEmpty());
}

TEST(ArrayScanner, NoticesWhatIsCutOffOrNoDocument) {
  EXPECT_FALSE(scan(R"({"jobs": [{"a": 1})", 3).complete);
  EXPECT_FALSE(scan("", 1).complete);
  EXPECT_FALSE(scan("]", 1).good);
}

TEST(ArrayScanner, RefusesAnElementWithoutEnd) {
  EXPECT_FALSE(scan(R"({"jobs": [{"a": ")" + std::string(17 << 20, 'x'), 1 << 20).good);
}

}  // namespace
}  // namespace slipway::compute
