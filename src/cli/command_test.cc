#include "cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/help.h"
#include "cli/nearest.h"

namespace slipway::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct Program {
  Program() {
    Command root = line.root();
    root.flag("--json", json, "print JSON");
    root.option("--home", home, "DIR", "the home", Completes::kFolder);
    Command run = root.command("run", "Look at runs", "");
    run.action([] { return 0; });
    Command list = run.command("list", "List runs", "slipway run list --limit 5");
    list.option("--limit,-n", limit, "N", "how many");
    list.option("--tag", tags, "K=V", "with this tag");
    list.action([] { return 0; });
    Command show = run.command("show", "Show a run", "slipway run show latest");
    show.positional("RUN", name, "the run", Completes::kRun);
    show.action([] { return 0; });
    Command submit = root.command("submit", "Submit", "slipway submit -- true");
    submit.positional("JOB", name, "a job file", Completes::kFile, false);
    submit.flag("--follow,-f", follow, "follow it");
    submit.trailing("COMMAND", command);
    submit.action([] { return 0; });
    root.command("token", "Tokens", "").command("create", "Create one", "").action([] { return 0; });
  }
  Error error_of(std::vector<std::string> words) {
    const auto chosen = line.parse(std::move(words));
    EXPECT_FALSE(chosen);
    return chosen ? Error{} : chosen.error();
  }
  CommandLine line{"slipway", "Train models"};
  bool json = false, follow = false;
  std::string home, name;
  std::optional<int> limit;
  std::map<std::string, std::string> tags;
  std::vector<std::string> command;
};

TEST(CommandLine, FindsTheCommandAndFillsItsTargets) {
  Program program;
  const auto chosen = program.line.parse({"run", "list", "-n", "5", "--tag", "a=b=c", "--tag=d=", "--json"});
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->command->path(), "slipway run list");
  EXPECT_EQ(program.limit, 5);
  EXPECT_TRUE(program.json);
  EXPECT_THAT(program.tags, ElementsAre(Pair("a", "b=c"), Pair("d", "")));
}

TEST(CommandLine, TakesGlobalOptionsBeforeTheCommandToo) {
  Program program;
  ASSERT_TRUE(program.line.parse({"--home", "run", "run", "show", "x"}));
  EXPECT_EQ(program.home, "run");
  EXPECT_EQ(program.name, "x");
}

TEST(CommandLine, TakesANameThatEqualsACommand) {
  for (const char* name : {"list", "show", "run", "submit"}) {
    Program program;
    const auto chosen = program.line.parse({"run", "show", name});
    ASSERT_TRUE(chosen) << chosen.error().message;
    EXPECT_EQ(chosen->command->path(), "slipway run show");
    EXPECT_EQ(program.name, name);
  }
}

TEST(CommandLine, PassesWhatFollowsTheDashesUntouched) {
  Program program;
  const auto chosen = program.line.parse({"submit", "-f", "--", "python", "--json", "--", "x"});
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_THAT(program.command, ElementsAre("python", "--json", "--", "x"));
  EXPECT_TRUE(program.follow);
  EXPECT_FALSE(program.json);
  EXPECT_EQ(program.name, "");
  EXPECT_THAT(Program().error_of({"run", "list", "--", "x"}).message, HasSubstr("takes nothing after --"));
}

TEST(CommandLine, ANamedGroupWithoutACommandRunsItsOwnAction) {
  Program program;
  EXPECT_EQ(program.line.parse({"run"})->command->path(), "slipway run");
  EXPECT_EQ(Program().error_of({"token"}).message, "'slipway token' needs a command");
}

TEST(CommandLine, SuggestsTheNearestCommandAndOption) {
  const Error command = Program().error_of({"run", "lsit"});
  EXPECT_EQ(command.message, "there is no command 'slipway run lsit'");
  EXPECT_THAT(command.next, HasSubstr("did you mean 'list'?"));
  const Error option = Program().error_of({"run", "list", "--limt", "3"});
  EXPECT_EQ(option.message, "'slipway run list' has no option --limt");
  EXPECT_THAT(option.next, HasSubstr("did you mean '--limit'?"));
  EXPECT_THAT(Program().error_of({"rnu"}).next, HasSubstr("did you mean 'run'?"));
}

TEST(CommandLine, SaysWhatIsMissingOrTooMuch) {
  EXPECT_EQ(Program().error_of({"run", "show"}).message, "'slipway run show' needs RUN: the run");
  EXPECT_EQ(Program().error_of({"run", "list", "--limit"}).message, "--limit needs a value: N");
  EXPECT_EQ(Program().error_of({"run", "list", "--limit", "many"}).message,
            "--limit: 'many' is not a whole number");
  EXPECT_EQ(Program().error_of({"run", "show", "a", "b"}).message, "'slipway run show' takes no word 'b'");
  EXPECT_EQ(Program().error_of({"submit", "a", "b"}).next, "put the command to run after --");
  EXPECT_THAT(Program().error_of({"run", "list", "--tag", "x"}).message, HasSubstr("has no name and value"));
}

TEST(CommandLine, GivesTheHelpOfTheCommandItStandsAt) {
  Program program;
  const auto chosen = program.line.parse({"run", "list", "--help"});
  ASSERT_TRUE(chosen);
  EXPECT_TRUE(chosen->help);
  const std::string help = help_text(*chosen->command, 80, false);
  EXPECT_THAT(help, HasSubstr("Usage: slipway run list [OPTIONS]\n"));
  EXPECT_THAT(help, HasSubstr("  -n, --limit N"));
  EXPECT_THAT(help, HasSubstr("Example:\n  slipway run list --limit 5\n"));
  EXPECT_THAT(help, HasSubstr("--json"));
}

TEST(Nearest, KnowsSwapsAndPrefixesAndKeepsQuietOtherwise) {
  EXPECT_EQ(edit_distance("lsit", "list"), 1U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(nearest_word("exper", {"run", "experiment"}), "experiment");
  EXPECT_EQ(nearest_word("zzzz", {"run", "experiment"}), "");
}

}  // namespace
}  // namespace slipway::cli
