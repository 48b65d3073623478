#include "cli/table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cli/quantities.h"

namespace slipway::cli {
namespace {

TEST(Table, LinesUpByDisplayColumns) {
  Table table({{"NAME"}, {"SIZE", Align::kRight}, {"NOTE"}});
  table.add({"grün", "1 B", "a"});
  table.add({"模型-long", "1.2 MiB", ""});
  EXPECT_EQ(table.render(0, false),
            "NAME          SIZE  NOTE\n"
            "grün           1 B  a\n"
            "模型-long  1.2 MiB\n");
}

TEST(Table, CutsOnlyColumnsThatMayShrinkAndOnlyToTheWidth) {
  Table table({{"ID"}, {"COMMAND", Align::kLeft, 8}});
  table.add({"digits-x7k2mq9w", "python train.py --epochs 300"});
  const std::string narrow = table.render(30, false);
  EXPECT_NE(narrow.find("digits-x7k2mq9w  python train…\n"), std::string::npos) << narrow;
  EXPECT_NE(table.render(5, false).find("digits-x7k2mq9w  python …\n"), std::string::npos);
  EXPECT_NE(table.render(0, false).find("--epochs 300"), std::string::npos);
}

TEST(Table, ColoursWithoutMovingTheColumns) {
  Table table({{"STATE"}, {"ID"}});
  table.add({Cell("Failed", Colour::kRed), "x"});
  const std::string text = table.render(0, true);
  EXPECT_NE(text.find("\033[31mFailed\033[0m  x\n"), std::string::npos) << text;
}

TEST(Table, ShowsNoEscapeSequenceFromACell) {
  Table table({{"NAME"}});
  table.add({"\033]0;owned\a"});
  EXPECT_EQ(table.render(0, false).find('\033'), std::string::npos);
}

TEST(Facts, IndentTheLinesOfAValue) {
  Facts facts;
  facts.add("state", "Running");
  facts.add("nodes", "a\nb");
  EXPECT_EQ(facts.render(false), "state  Running\nnodes  a\n       b\n");
}

TEST(Sparkline, DrawsLowToHighAndSurvivesOddValues) {
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({1, NAN, 3}, 8), "▁ █");
  EXPECT_EQ(display_width(sparkline(std::vector<double>(1000, 2.5), 20)), 20U);
  EXPECT_EQ(sparkline({}, 8), "");
  EXPECT_EQ(sparkline({-1.7e308, 1.7e308}, 2), "▁█");
}

}  // namespace
}  // namespace slipway::cli
