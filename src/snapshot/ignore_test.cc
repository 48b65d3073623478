#include "snapshot/ignore.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <random>
#include <set>

#include "snapshot/test_folder.h"
#include "snapshot/walk.h"

namespace slipway::snapshot {
namespace {

bool ignored(std::string_view patterns, std::string_view path, bool is_folder = false) {
  return IgnoreFile(patterns).check(path, is_folder) == Verdict::kIgnored;
}

TEST(Ignore, MatchesANameAtEveryDepthAndAPathWithASlashFromItsFolder) {
  EXPECT_TRUE(ignored("*.pyc", "a/b/c.pyc"));
  EXPECT_TRUE(ignored("/data", "data"));
  EXPECT_FALSE(ignored("/data", "sub/data"));
  EXPECT_FALSE(ignored("doc/frotz", "a/doc/frotz"));
  EXPECT_TRUE(ignored("foo/*", "foo/x"));
  EXPECT_FALSE(ignored("foo/*", "foo/x/y"));
}

TEST(Ignore, TakesTheLastPatternThatMatches) {
  EXPECT_FALSE(ignored("*.log\n!keep.log", "keep.log"));
  EXPECT_TRUE(ignored("!keep.log\n*.log", "keep.log"));
}

TEST(Ignore, TreatsStarsBetweenSlashesAsAnyNumberOfFolders) {
  EXPECT_TRUE(ignored("**/foo", "foo"));
  EXPECT_TRUE(ignored("a/**/b", "a/b"));
  EXPECT_TRUE(ignored("a/**/b", "a/x/y/b"));
  EXPECT_TRUE(ignored("abc/**", "abc/x/y"));
  EXPECT_FALSE(ignored("abc/**", "abc", true));
  EXPECT_FALSE(ignored("x/a*b", "x/a/b"));
}

TEST(Ignore, KeepsEscapedBlanksAndDropsTheOthers) {
  EXPECT_TRUE(ignored("foo  ", "foo"));
  EXPECT_TRUE(ignored("foo\\ ", "foo "));
  EXPECT_TRUE(ignored("foo\\   ", "foo "));
  EXPECT_TRUE(ignored("\\#x", "#x"));
  EXPECT_TRUE(ignored("\\!x", "!x"));
  EXPECT_FALSE(ignored("#x", "#x"));
}

TEST(Ignore, ReadsWindowsLinesAndAByteOrderMark) {
  EXPECT_TRUE(ignored("\xef\xbb\xbf*.tmp\r\nbuild/\r\n", "x.tmp"));
  EXPECT_TRUE(ignored("*.tmp\r\nbuild/\r\n", "build", true));
  EXPECT_FALSE(ignored("build/", "build", false));
}

TEST(Ignore, MatchesNothingWithAMalformedPattern) {
  for (const char* pattern : {"[a", "[[:nothing:]]", "a\\", "[", "[]", "[!", "!", "/", "//", " "})
    EXPECT_FALSE(ignored(pattern, "a")) << pattern;
}

TEST(Ignore, IsNotSlowedDownByManyStars) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(ignored(pattern + "b", std::string(4000, 'a')));
  for (int i = 0; i < 200; ++i) pattern += "/**/a";
  EXPECT_FALSE(ignored(pattern + "b", std::string(2000, 'a')));
}

// Real git is the judge: the same random folder and ignore files are listed by both.
class AgainstGit : public testing::Test {
 protected:
  static std::set<std::string> output_lines(const std::string& command) {
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    char buffer[4096];
    for (size_t count = 0; (count = ::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, count);
    EXPECT_EQ(::pclose(pipe), 0) << command;
    std::set<std::string> lines;
    for (size_t start = 0; start < text.size();) {
      const size_t end = text.find('\0', start);
      lines.insert(text.substr(start, end - start));
      start = end + 1;
    }
    return lines;
  }

  static std::set<std::string> ours(const TestFolder& folder) {
    const auto fd = open_source(folder.path());
    const auto walked = walk_folder(fd->get());
    EXPECT_TRUE(walked) << walked.error().message;
    std::set<std::string> paths;
    for (const FoundFile& file : walked->files) paths.insert(file.path);
    return paths;
  }

  static std::set<std::string> gits(const TestFolder& folder) {
    return output_lines(fmt::format("git -C {} ls-files -z --others --exclude-per-directory=.gitignore",
                                    folder.path().string()));
  }

  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[std::uniform_int_distribution<size_t>(0, choices.size() - 1)(random_)];
  }
  int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  std::string random_pattern() {
    static const std::vector<std::string> kPieces{"a",
                                                  "b",
                                                  "c",
                                                  "ab",
                                                  "*",
                                                  "**",
                                                  "?",
                                                  "/",
                                                  "/",
                                                  "/**/",
                                                  "**/",
                                                  "/**",
                                                  "***",
                                                  "[a-b]",
                                                  "[!a]",
                                                  "[^b-]",
                                                  "[]a]",
                                                  "[[:alpha:]]",
                                                  "[a",
                                                  "\\a",
                                                  "\\*",
                                                  "\\",
                                                  ".x",
                                                  "*.x",
                                                  " ",
                                                  "\\ ",
                                                  "[b/]",
                                                  "[[:b]",
                                                  "[[:digit:]x]",
                                                  "[\\]a]",
                                                  "[a-",
                                                  "[z-a]",
                                                  "[+--]",
                                                  "#",
                                                  "!",
                                                  "é",
                                                  "[[:punct:]]",
                                                  "[a-b-c]",
                                                  "[!\\a-b]",
                                                  "\\/",
                                                  "/*/",
                                                  "*/",
                                                  "[:a]",
                                                  "[[:]a]",
                                                  "[[:nope:]]"};
    std::string pattern;
    if (number(0, 4) == 0) pattern += "!";
    if (number(0, 5) == 0) pattern += "/";
    const int pieces = number(1, 4);
    for (int i = 0; i < pieces; ++i) pattern += one_of(kPieces);
    if (number(0, 4) == 0) pattern += "/";
    if (number(0, 9) == 0) pattern += "  ";
    return pattern;
  }

  std::string random_ignore_file() {
    std::string text = number(0, 9) == 0 ? "\xef\xbb\xbf" : "";
    const int lines = number(1, 5);
    for (int i = 0; i < lines; ++i) {
      text += random_pattern();
      if (i + 1 < lines || number(0, 1) == 0) text += number(0, 6) == 0 ? "\r\n" : "\n";
    }
    return text;
  }

  std::mt19937 random_{20261115};
};

TEST_F(AgainstGit, ListsTheSameFilesForManyRandomIgnoreFiles) {
  const TestFolder folder;
  output_lines(fmt::format("git init -q {}", folder.path().string()));
  const std::vector<std::string> names{"a", "b", "c", "ab", "ba", "abc", "a.x", "b.x", "x",  "a b",
                                       "é", "1", "-", "#a", "!a", "*",   "[a",  "]",   "a ", "+"};
  const std::vector<std::string> folders{"", "a/", "b/", "a/b/", "a/b/c/", "ab/a/", "b/a/", "b/b/b/", "c.x/"};
  // A name that is a folder somewhere is no file there.
  const auto is_folder = [&](const std::string& path) {
    return std::ranges::any_of(folders, [&](const std::string& f) { return f.starts_with(path + "/"); });
  };
  for (const std::string& parent : folders)
    for (const std::string& name : names)
      if (!is_folder(parent + name)) folder.write(parent + name, "");
  const int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    std::string shown;
    for (const std::string& parent : folders) {
      const std::filesystem::path path = folder.path() / (parent + ".gitignore");
      std::filesystem::remove(path);
      if (!parent.empty() && number(0, 3) != 0) continue;
      const std::string text = random_ignore_file();
      folder.write(parent + ".gitignore", text);
      shown += fmt::format("--- {}.gitignore\n{}\n", parent, text);
    }
    ASSERT_EQ(ours(folder), gits(folder)) << shown;
  }
}

TEST_F(AgainstGit, GivesTheSameVerdictOnEachPathForManyRandomPatterns) {
  const TestFolder folder;
  output_lines(fmt::format("git init -q {}", folder.path().string()));
  std::vector<std::string> paths;
  const std::vector<std::string> parts{"a", "b",  "ab", "abc", "c", "a.x", "b.x",
                                       "é", "a ", "aa", "*",   "]", "+",   "-"};
  for (int i = 0; i < 120; ++i) {
    std::string path = one_of(parts);
    for (int depth = number(0, 4); depth > 0; --depth) path += "/" + one_of(parts);
    paths.push_back(path);
  }
  std::string input;
  for (const std::string& path : paths) input += path + '\0';
  folder.write(".paths", input);
  for (int round = 0; round < 150; ++round) {
    const std::string text = random_pattern() + "\n" + random_pattern() + "\n";
    folder.write(".gitignore", text);
    const IgnoreScope scope(nullptr, "", IgnoreFile(text));
    // Exit status 1 only says that no path is ignored.
    const std::set<std::string> gits = output_lines(
        fmt::format("cd {} && {{ git check-ignore --no-index -z --stdin < .paths || test $? = 1; }}",
                    folder.path().string()));
    for (const std::string& path : paths) {
      bool ours = false;
      for (size_t slash = path.find('/'); slash != std::string::npos && !ours;
           slash = path.find('/', slash + 1))
        ours = scope.ignores(path.substr(0, slash), true);
      ours = ours || scope.ignores(path, false);
      ASSERT_EQ(ours, gits.contains(path)) << "path '" << path << "' under\n" << text;
    }
  }
}

}  // namespace
}  // namespace slipway::snapshot
