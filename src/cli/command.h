// The tree of commands: declared once, and from that declaration come parsing (CLI11, whose slow headers stay
// in command.cc), help and shell completion, so that the three cannot drift apart.
//
//   Command list = run.command("list", "List runs, newest first", "slipway run list --state Running");
//   list.option("--limit", options->limit, "N", "how many at most");
//   list.action([options, &context] { return list_runs(context, *options); });
//
// Targets and whatever an action captures must outlive the CommandLine. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace slipway::cli {

// What the value of an option or a positional may be, for completion.
enum class Completes {
  kNothing,
  kFile,
  kFolder,
  kRun,
  kCluster,
  kEnvironment,
  kExperiment,
  kWorkspace,
  kToken,
  kDatastore,
  kDataset,
  kModel,
  kService,
  kState,
  kChoice
};

// An amount of memory: "4" and "4G" are 4 GiB.
struct ByteCount {
  uint64_t bytes = 0;
};

// One option or positional, as declared.
struct Argument {
  std::vector<std::string> names;  // "--follow", "-f"; of a positional its name: "RUN"
  std::string value_name;          // "DIR"; empty for a flag
  std::string about;
  Completes completes = Completes::kNothing;
  std::vector<std::string> choices;
  bool positional = false;
  bool required = false;
  bool repeated = false;
  bool hidden = false;
  bool is_flag() const { return !positional && value_name.empty(); }
};

using Action = std::function<Result<int>()>;  // the exit code

// One command, as declared.
struct CommandNode {
  std::string name;
  std::string about;
  std::vector<std::string> examples;
  bool hidden = false;
  CommandNode* parent = nullptr;
  std::vector<Argument> arguments;
  std::vector<std::unique_ptr<CommandNode>> commands;
  std::vector<std::string>* trailing = nullptr;  // takes what stands after "--"
  std::string trailing_name;
  Action action;
  std::shared_ptr<void> parser;  // the CLI::App behind it; the root's owns all of them

  std::string path() const;  // "slipway run list"
  const CommandNode* find(std::string_view name) const;
  // The option of that name here or, for global options, in a command above; null: none.
  const Argument* find_option(std::string_view name) const;
};

// A handle on a node, for declaring.
class Command {
 public:
  explicit Command(CommandNode& node) : node_(&node) {}

  Command command(std::string name, std::string about, std::string example);
  void example(std::string line) { node_->examples.push_back(std::move(line)); }
  void hide() { node_->hidden = true; }

  void flag(const std::string& names, bool& target, std::string about);
  // T: std::string, int, int64_t, double, Duration, ByteCount, std::optional of those;
  // std::vector<std::string> and std::map<std::string, std::string> ("k=v") may be repeated.
  template <class T>
  void option(const std::string& names, T& target, std::string value_name, std::string about,
              Completes completes = Completes::kNothing) {
    constexpr bool repeated =
        std::is_same_v<T, std::vector<std::string>> || std::is_same_v<T, std::map<std::string, std::string>>;
    add(
        names, [&target](const std::string& text) { return read_value(text, target); },
        Argument{.names = {},
                 .value_name = std::move(value_name),
                 .about = std::move(about),
                 .completes = completes,
                 .choices = {},
                 .repeated = repeated});
  }
  void choice(const std::string& names, std::string& target, std::vector<std::string> choices,
              std::string about);
  void positional(const std::string& name, std::string& target, std::string about,
                  Completes completes = Completes::kNothing, bool required = true);
  // A positional with a few known values, for completion; the caller checks them.
  void positional_choice(const std::string& name, std::string& target, std::vector<std::string> choices,
                         std::string about);
  void positionals(const std::string& name, std::vector<std::string>& target, std::string about,
                   Completes completes = Completes::kNothing, bool required = true);
  void trailing(const std::string& name, std::vector<std::string>& target);
  // Without an action a command only holds others, and one of them must be named.
  void action(Action action) { node_->action = std::move(action); }

 private:
  using Setter = std::function<Status(const std::string&)>;
  void add(const std::string& names, Setter set, Argument argument);

  static Status read_value(const std::string& text, std::string& target);
  static Status read_value(const std::string& text, int& target);
  static Status read_value(const std::string& text, int64_t& target);
  static Status read_value(const std::string& text, double& target);
  static Status read_value(const std::string& text, Duration& target);
  static Status read_value(const std::string& text, ByteCount& target);
  static Status read_value(const std::string& text, std::vector<std::string>& target);
  static Status read_value(const std::string& text, std::map<std::string, std::string>& target);
  template <class T>
  static Status read_value(const std::string& text, std::optional<T>& target) {
    return read_value(text, target.emplace());
  }

  CommandNode* node_;
};

// The whole tree with its parser.
class CommandLine {
 public:
  CommandLine(std::string program, std::string about);
  ~CommandLine();

  Command root() { return Command(*root_); }
  const CommandNode& tree() const { return *root_; }

  // What was asked for: a command to run, or the help of one.
  struct Chosen {
    const CommandNode* command = nullptr;
    bool help = false;
  };
  // Fills the targets. kInvalidArgument for everything a person can mistype, with the nearest known word.
  Result<Chosen> parse(std::vector<std::string> arguments);

 private:
  std::unique_ptr<CommandNode> root_;
};

// How far the words lead into the tree, whether or not they are complete: for messages and completion.
struct Position {
  const CommandNode* command = nullptr;
  const Argument* awaiting = nullptr;  // the option whose value comes next
  size_t positionals = 0;              // given so far to `command`
  bool after_dashes = false;           // "--" was seen
  std::string unknown_command;         // a word where only a sub-command can stand
  std::string unknown_option;
};
Position locate(const CommandNode& root, const std::vector<std::string>& words);

}  // namespace slipway::cli
