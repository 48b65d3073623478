#include "data/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"

namespace slipway::data {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string refusal(std::string_view text) {
  const auto url = parse_url(text);
  return url ? "it was taken" : url.error().message;
}

TEST(DataUrl, IsTakenApart) {
  const auto url = parse_url("HTTPS://Host.Example:8443/a%20b/c d?x=1&y=ü#part");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->server(), "https://host.example:8443");
  EXPECT_EQ(url->target, "/a%20b/c%20d?x=1&y=%C3%BC");
  EXPECT_EQ(url->shown(), "https://host.example:8443/a%20b/c%20d");
  EXPECT_EQ(parse_url("http://host")->target, "/");
  EXPECT_EQ(parse_url("http://host?x")->target, "/?x");
  EXPECT_EQ(parse_url("http://host:80/a")->server(), "http://host");
  EXPECT_EQ(parse_url("http://[::1]:81/a")->server(), "http://[::1]:81");
}

TEST(DataUrl, RefusesWhatIsNoAddressOfAFile) {
  EXPECT_THAT(refusal("ftp://host/a"), HasSubstr("only http and https"));
  EXPECT_THAT(refusal("file:///etc/passwd"), HasSubstr("only http and https"));
  EXPECT_THAT(refusal("http://"), HasSubstr("no host"));
  EXPECT_THAT(refusal("http://ho st/a"), HasSubstr("no host"));
  EXPECT_THAT(refusal("http://host:0/a"), HasSubstr("no host"));
  EXPECT_THAT(refusal("http://host:99999/a"), HasSubstr("no host"));
  EXPECT_THAT(refusal("http://host/a\r\nX: y"), HasSubstr("control character"));
}

TEST(DataUrl, ShowsNoSecretsInMessages) {
  const std::string message = refusal("http://user:hunter2@host/a");
  EXPECT_THAT(message, Not(HasSubstr("hunter2")));
  EXPECT_THAT(refusal("ftp://u:hunter2@host/a?sig=hunter2"), Not(HasSubstr("hunter2")));
  EXPECT_THAT(parse_url("http://host/a?sig=hunter2")->shown(), Not(HasSubstr("hunter2")));
}

TEST(DataUrl, FollowsRedirectsOnlyToWebServersAndNeverDownFromTls) {
  const Url from = *parse_url("https://host/a/b?x");
  EXPECT_EQ(follow_redirect(from, "/c")->shown(), "https://host/c");
  EXPECT_EQ(follow_redirect(from, "c?y=1")->shown(), "https://host/a/c");
  EXPECT_EQ(follow_redirect(from, "//other/c")->shown(), "https://other/c");
  EXPECT_EQ(follow_redirect(*parse_url("http://host/a"), "https://host/a")->shown(), "https://host/a");
  for (const char* location : {"file:///etc/passwd", "ftp://host/a", "javascript:x", "http://host/a", "",
                               "https://user@host/", "https://"}) {
    const auto to = follow_redirect(from, location);
    if (std::string_view(location).empty()) {
      EXPECT_EQ(to->shown(), "https://host/a/");
      continue;
    }
    ASSERT_FALSE(to) << location;
    EXPECT_THAT(to.error().message, HasSubstr("https://host/a/b is redirected"));
  }
}

TEST(DataUrl, LaysFilesOutByHostAndPath) {
  EXPECT_EQ(layout_of(*parse_url("http://host:8080/a/b%20c.gz?x")), "host_8080/a/b c.gz");
  EXPECT_EQ(layout_of(*parse_url("http://host/a/../..//b")), "host/a/b");
  EXPECT_EQ(layout_of(*parse_url("http://host/%2e%2e/%2Fetc")), "host/%2e%2e/%2Fetc");
  EXPECT_EQ(layout_of(*parse_url("http://host/")), "host/index");
  EXPECT_EQ(file_name_of(*parse_url("http://host/d/train-images-idx3-ubyte.gz?sig=1")),
            "train-images-idx3-ubyte.gz");
}

TEST(DataUrl, NamesFilesBelowAnAddress) {
  EXPECT_EQ(below(*parse_url("http://host/data?key=1"), "a b/c#").target, "/data/a%20b/c%23?key=1");
  EXPECT_EQ(below(*parse_url("http://host"), "a").target, "/a");
}

}  // namespace
}  // namespace slipway::data
