#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "cli/console.h"
#include "cli/context.h"

namespace slipway::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

// The real tree, asked as a shell asks it.
struct Shell {
  Shell() {
    add_server_commands(line.root(), context);
    add_submit_command(line.root(), context);
    add_run_commands(line.root(), context);
    add_compute_commands(line.root(), context);
    add_completion_commands(line.root(), context);
  }
  std::vector<std::string> words(const std::vector<std::string>& typed) {
    last = complete(line.tree(), typed, [this](Completes kind) {
      asked.push_back(kind);
      return kind == Completes::kRun
                 ? std::vector<Candidate>{{"digits-a1", "Running"}, {"other-b2", "Failed"}}
                 : std::vector<Candidate>{{"gpu", ""}};
    });
    std::vector<std::string> list;
    for (const Candidate& candidate : last.candidates) list.push_back(candidate.word);
    return list;
  }
  Roles roles;
  SystemClock clock;
  Console console{-1, -1};
  Context context{.console = console, .roles = roles, .clock = clock, .options = {}, .tree = nullptr};
  CommandLine line{"slipway", "Train models"};
  Completion last;
  std::vector<Completes> asked;
};

TEST(Complete, OffersCommandsAndSubCommands) {
  Shell shell;
  EXPECT_THAT(shell.words({"su"}), ElementsAre("submit"));
  EXPECT_THAT(shell.words({"run", "d"}), ElementsAre("download", "delete", "diff"));
  EXPECT_THAT(shell.words({""}), Not(Contains("supervise")));
  EXPECT_THAT(shell.asked, IsEmpty());
}

TEST(Complete, OffersOptionsOfTheCommandAndTheGlobalOnes) {
  Shell shell;
  EXPECT_THAT(shell.words({"run", "list", "--"}), IsSupersetOf({"--state", "--tag", "--help"}));
  EXPECT_THAT(shell.words({"run", "list", "--st"}), ElementsAre("--state"));
  EXPECT_THAT(shell.words({"submit", "-"}), IsSupersetOf({"-f", "--follow", "--"}));
}

TEST(Complete, OffersValuesOfTheKindThatIsAwaited) {
  Shell shell;
  EXPECT_THAT(shell.words({"run", "list", "--state", "Co"}), ElementsAre("Completed"));
  EXPECT_THAT(shell.words({"run", "list", "--state=Fa"}), ElementsAre("--state=Failed"));
  EXPECT_THAT(shell.words({"compute", "create", "x", "--priority", ""}), ElementsAre("dedicated", "low"));
  EXPECT_THAT(shell.words({"submit", "--priority", ""}), ElementsAre("low", "normal", "high"));
  EXPECT_THAT(shell.words({"submit", "--compute", "g"}), ElementsAre("gpu"));
  EXPECT_THAT(shell.words({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(shell.words({"submit", "--source", ""}), IsEmpty());
  EXPECT_TRUE(shell.last.folders);
}

TEST(Complete, OffersRunsWhereARunIsMeant) {
  Shell shell;
  EXPECT_THAT(shell.words({"run", "show", ""}), ElementsAre("latest", "digits-a1", "other-b2"));
  EXPECT_THAT(shell.words({"run", "diff", "latest", "d"}), ElementsAre("digits-a1"));
  EXPECT_THAT(shell.words({"run", "cancel", "a", "b", "o"}), ElementsAre("other-b2"));
  EXPECT_THAT(shell.words({"run", "show", "a", ""}), IsEmpty());
  EXPECT_EQ(shell.last.files, false);
}

TEST(Complete, LeavesTheJobsOwnCommandToTheShell) {
  Shell shell;
  EXPECT_THAT(shell.words({"submit", "--follow", "--", "python", ""}), IsEmpty());
  EXPECT_TRUE(shell.last.files);
}

TEST(Complete, IsQuietAfterAnUnknownCommand) {
  Shell shell;
  EXPECT_THAT(shell.words({"rnu", ""}), IsEmpty());
  EXPECT_THAT(shell.words({}), IsEmpty());
}

// What a person can find by typing alone.
void every_command(const CommandNode& node, const std::function<void(const CommandNode&)>& visit) {
  visit(node);
  for (const auto& command : node.commands) every_command(*command, visit);
}

TEST(Tree, HasAnExampleAndAWordOnEverything) {
  Shell shell;
  every_command(shell.line.tree(), [](const CommandNode& node) {
    if (node.parent == nullptr) return;
    EXPECT_FALSE(node.about.empty()) << node.path();
    EXPECT_FALSE(node.examples.empty()) << node.path();
    for (const Argument& argument : node.arguments)
      EXPECT_FALSE(argument.about.empty()) << node.path() << " " << argument.names.front();
  });
}

}  // namespace
}  // namespace slipway::cli
