#include "http/router.h"

#include <gtest/gtest.h>

namespace slipway::http {
namespace {

Result<Response> nothing(const Request&) {
  return empty_response();
}

Router with(std::initializer_list<std::pair<Method, const char*>> rows) {
  Router router;
  for (const auto& [method, pattern] : rows) router.add(Route(method, pattern, Access::kReader, nothing));
  return router;
}

std::string pattern_for(const Router& router, std::string_view path, Method method = Method::kGet) {
  const auto match = router.find(method, path);
  return match ? match->route->pattern : std::string(error_name(match.error().code));
}

TEST(Router, FindsParametersAndDecodesThemOnce) {
  const Router router = with({{Method::kGet, "/w/{workspace}/runs/{run}"}});
  const auto match = router.find(Method::kGet, "/w/a%2Fb/runs/%2525");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->params.at("workspace"), "a/b");
  EXPECT_EQ(match->params.at("run"), "%25");
}

TEST(Router, PrefersLiteralsAndComesBackFromADeadEnd) {
  const Router router = with({{Method::kGet, "/runs/{run}"},
                              {Method::kGet, "/runs/latest"},
                              {Method::kGet, "/runs/{run}/logs"},
                              {Method::kGet, "/runs/latest/events"}});
  EXPECT_EQ(pattern_for(router, "/runs/latest"), "/runs/latest");
  EXPECT_EQ(pattern_for(router, "/runs/other"), "/runs/{run}");
  EXPECT_EQ(pattern_for(router, "/runs/latest/logs"), "/runs/{run}/logs");
}

TEST(Router, TakesTheRestOfThePath) {
  const Router router = with({{Method::kGet, "/ui/{path...}"}, {Method::kGet, "/ui/index"}});
  EXPECT_EQ(pattern_for(router, "/ui/index"), "/ui/index");
  const auto match = router.find(Method::kGet, "/ui/assets/a%20b.js");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->params.at("path"), "assets/a b.js");
  EXPECT_EQ(pattern_for(router, "/ui/"), "not_found");
}

TEST(Router, RefusesUnknownPathsEmptySegmentsAndBadEscapes) {
  const Router router = with({{Method::kGet, "/runs/{run}"}, {Method::kGet, "/"}});
  EXPECT_EQ(pattern_for(router, "/"), "/");
  EXPECT_EQ(pattern_for(router, "/runs"), "not_found");
  EXPECT_EQ(pattern_for(router, "/runs/"), "not_found");
  EXPECT_EQ(pattern_for(router, "/runs//x"), "not_found");
  EXPECT_EQ(pattern_for(router, "/runs/a/b"), "not_found");
  EXPECT_EQ(pattern_for(router, "/runs/%zz"), "invalid_argument");
  EXPECT_EQ(pattern_for(router, "/runs/%0"), "invalid_argument");
  EXPECT_EQ(pattern_for(router, "/runs/%00"), "invalid_argument");
  EXPECT_EQ(pattern_for(router, ""), "invalid_argument");
  EXPECT_EQ(pattern_for(router, "runs/x"), "invalid_argument");
}

TEST(Router, SaysWhichMethodsAPathTakes) {
  const Router router = with({{Method::kGet, "/runs/{run}"}, {Method::kDelete, "/runs/{id}"}});
  std::vector<Method> allowed;
  const auto match = router.find(Method::kPost, "/runs/x", &allowed);
  ASSERT_FALSE(match);
  EXPECT_EQ(match.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(allowed, (std::vector{Method::kGet, Method::kHead, Method::kDelete}));
  EXPECT_EQ(router.find(Method::kDelete, "/runs/x")->params.at("id"), "x");
  EXPECT_EQ(pattern_for(router, "/runs/x", Method::kHead), "/runs/{run}");
}

TEST(RouterDeathTest, AbortsOnTwoRoutesOfOneShape) {
  Router router = with({{Method::kGet, "/runs/{run}"}});
  EXPECT_DEATH(router.add(Route(Method::kGet, "/runs/{id}", Access::kReader, nothing)), "are the same");
  EXPECT_DEATH(router.add(Route(Method::kGet, "/x/{rest...}/y", Access::kReader, nothing)), "goes on behind");
}

TEST(PercentEncoding, GoesThereAndBack) {
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(percent_decode(percent_encode(all), true), all);
  EXPECT_EQ(percent_encode("a b/ö~"), "a%20b%2F%C3%B6~");
}

TEST(Query, IsDecodedOnceAndTheLastOfRepeatedKeysCounts) {
  const auto query = parse_query("a=1&b=x+y%2Bz&a=2&flag&&tag=k%3Dv=w");
  ASSERT_TRUE(query);
  EXPECT_EQ(*query,
            (std::map<std::string, std::string>{{"a", "2"}, {"b", "x y+z"}, {"flag", ""}, {"tag", "k=v=w"}}));
  EXPECT_FALSE(parse_query("a=%"));
  EXPECT_FALSE(parse_query("%00=1"));
  EXPECT_TRUE(parse_query("")->empty());
}

}  // namespace
}  // namespace slipway::http
