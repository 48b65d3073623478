#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/nearest.h"
#include "cli/quantities.h"

namespace slipway::cli {
namespace {

// Carries an error of ours through CLI11 to `parse`, where it was called.
struct BadValue {
  Error error;
};

CLI::App& parser_of(const CommandNode& node) {
  return *static_cast<CLI::App*>(node.parser.get());
}

void prepare(CLI::App& app) {
  app.set_help_flag("-h,--help");
  app.fallthrough();             // global options may stand after the sub-command
  app.require_subcommand(0, 1);  // a name that equals a command's is then never taken for one
}

std::vector<std::string> split_names(const std::string& names) {
  std::vector<std::string> list;
  size_t begin = 0;
  while (begin <= names.size()) {
    const size_t end = std::min(names.find(',', begin), names.size());
    list.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

template <class Number>
Status read_number(const std::string& text, Number& target, std::string_view what) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), target);
  if (error != std::errc{} || end != text.data() + text.size())
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not {}", printable(text, 64), what));
  return {};
}

}  // namespace

Status Command::read_value(const std::string& text, std::string& target) {
  target = text;
  return {};
}

Status Command::read_value(const std::string& text, int& target) {
  return read_number(text, target, "a whole number");
}

Status Command::read_value(const std::string& text, int64_t& target) {
  return read_number(text, target, "a whole number");
}

Status Command::read_value(const std::string& text, double& target) {
  SLIPWAY_TRY(read_number(text, target, "a number"));
  if (!std::isfinite(target))
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a number", text));
  return {};
}

Status Command::read_value(const std::string& text, Duration& target) {
  SLIPWAY_ASSIGN(target, parse_duration(text));
  return {};
}

Status Command::read_value(const std::string& text, ByteCount& target) {
  SLIPWAY_ASSIGN(target.bytes, parse_memory(text));
  return {};
}

Status Command::read_value(const std::string& text, std::vector<std::string>& target) {
  target.push_back(text);
  return {};
}

Status Command::read_value(const std::string& text, std::map<std::string, std::string>& target) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' has no name and value", printable(text, 64)),
                "write it as NAME=VALUE");
  target[text.substr(0, equals)] = text.substr(equals + 1);
  return {};
}

std::string CommandNode::path() const {
  return parent == nullptr ? name : parent->path() + " " + name;
}

const CommandNode* CommandNode::find(std::string_view wanted) const {
  for (const auto& command : commands)
    if (command->name == wanted) return command.get();
  return nullptr;
}

const Argument* CommandNode::find_option(std::string_view wanted) const {
  for (const CommandNode* node = this; node != nullptr; node = node->parent)
    for (const Argument& argument : node->arguments)
      if (!argument.positional && std::ranges::find(argument.names, wanted) != argument.names.end())
        return &argument;
  return nullptr;
}

Command Command::command(std::string name, std::string about, std::string example) {
  CLI::App* app = parser_of(*node_).add_subcommand(name, about);
  prepare(*app);
  auto child = std::make_unique<CommandNode>();
  child->name = std::move(name);
  child->about = std::move(about);
  if (!example.empty()) child->examples.push_back(std::move(example));
  child->parent = node_;
  child->parser = std::shared_ptr<void>(node_->parser, app);
  node_->commands.push_back(std::move(child));
  return Command(*node_->commands.back());
}

void Command::flag(const std::string& names, bool& target, std::string about) {
  parser_of(*node_).add_flag(names, target);
  node_->arguments.push_back(
      Argument{.names = split_names(names), .value_name = "", .about = std::move(about), .choices = {}});
}

void Command::add(const std::string& names, Setter set, Argument argument) {
  argument.names = split_names(names);
  const std::string shown = argument.names.front();
  CLI::Option* option =
      parser_of(*node_).add_option(names, [set = std::move(set), shown](const CLI::results_t& values) {
        for (const std::string& value : values) {
          Status status = set(value);
          if (status) continue;
          Error error = std::move(status).error();
          error.message = fmt::format("{}: {}", shown, error.message);
          throw BadValue{std::move(error)};
        }
        return true;
      });
  option->type_size(1);
  option->required(argument.required);
  if (argument.repeated) {
    option->expected(1, CLI::detail::expected_max_vector_size);
    // An option takes one value each time it is named; only a positional takes all that follow.
    option->allow_extra_args(argument.positional);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  } else {
    option->expected(1);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  node_->arguments.push_back(std::move(argument));
}

void Command::choice(const std::string& names, std::string& target, std::vector<std::string> choices,
                     std::string about) {
  const Setter set = [&target, choices](const std::string& text) -> Status {
    if (std::ranges::find(choices, text) == choices.end())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is not one of its values", printable(text, 64)),
                  fmt::format("use one of: {}", fmt::join(choices, ", ")));
    target = text;
    return {};
  };
  add(names, set,
      Argument{.names = {},
               .value_name = fmt::format("{}", fmt::join(choices, "|")),
               .about = std::move(about),
               .completes = Completes::kChoice,
               .choices = choices});
}

void Command::positional(const std::string& name, std::string& target, std::string about, Completes completes,
                         bool required) {
  add(
      name, [&target](const std::string& text) { return read_value(text, target); },
      Argument{.names = {},
               .value_name = name,
               .about = std::move(about),
               .completes = completes,
               .choices = {},
               .positional = true,
               .required = required});
}

void Command::positional_choice(const std::string& name, std::string& target,
                                std::vector<std::string> choices, std::string about) {
  positional(name, target, std::move(about), Completes::kChoice);
  node_->arguments.back().choices = std::move(choices);
}

void Command::positionals(const std::string& name, std::vector<std::string>& target, std::string about,
                          Completes completes, bool required) {
  add(
      name, [&target](const std::string& text) { return read_value(text, target); },
      Argument{.names = {},
               .value_name = name,
               .about = std::move(about),
               .completes = completes,
               .choices = {},
               .positional = true,
               .required = required,
               .repeated = true});
}

void Command::trailing(const std::string& name, std::vector<std::string>& target) {
  node_->trailing = &target;
  node_->trailing_name = name;
}

CommandLine::CommandLine(std::string program, std::string about) : root_(std::make_unique<CommandNode>()) {
  auto app = std::make_shared<CLI::App>(about, program);
  prepare(*app);
  root_->name = std::move(program);
  root_->about = std::move(about);
  root_->parser = std::move(app);
}

CommandLine::~CommandLine() = default;

namespace {

const CommandNode* chosen_node(const CommandNode& root) {
  const CommandNode* node = &root;
  while (true) {
    const std::vector<CLI::App*> parsed = parser_of(*node).get_subcommands();
    const CommandNode* child = parsed.empty() ? nullptr : node->find(parsed.front()->get_name());
    if (child == nullptr) return node;
    node = child;
  }
}

std::vector<std::string> visible_names(const CommandNode& node) {
  std::vector<std::string> names;
  for (const auto& command : node.commands)
    if (!command->hidden) names.push_back(command->name);
  return names;
}

std::vector<std::string> option_names(const CommandNode& node) {
  std::vector<std::string> names{"--help"};
  for (const CommandNode* at = &node; at != nullptr; at = at->parent)
    for (const Argument& argument : at->arguments)
      if (!argument.positional && !argument.hidden)
        names.insert(names.end(), argument.names.begin(), argument.names.end());
  return names;
}

std::string see_help(const CommandNode& node) {
  return fmt::format("see: {} --help", node.path());
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         const CommandNode& node) {
  const std::string nearest = nearest_word(word, known);
  return nearest.empty() ? see_help(node) : fmt::format("did you mean '{}'? {}", nearest, see_help(node));
}

// Says what CLI11 found wrong in our own words: its exception tells only the kind.
Error explain(const CommandNode& root, const std::vector<std::string>& words, const CLI::ParseError& error) {
  const Position at = locate(root, words);
  const auto wrong = [](std::string message, std::string next) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .message = std::move(message),
                 .next = std::move(next),
                 .detail = ""};
  };
  if (!at.unknown_command.empty())
    return wrong(
        fmt::format("there is no command '{} {}'", at.command->path(), printable(at.unknown_command, 64)),
        did_you_mean(at.unknown_command, visible_names(*at.command), *at.command));
  if (!at.unknown_option.empty())
    return wrong(fmt::format("'{}' has no option {}", at.command->path(), printable(at.unknown_option, 64)),
                 did_you_mean(at.unknown_option, option_names(*at.command), *at.command));
  if (at.awaiting != nullptr)
    return wrong(fmt::format("{} needs a value: {}", at.awaiting->names.front(), at.awaiting->value_name),
                 see_help(*at.command));
  size_t index = 0;
  for (const Argument& argument : at.command->arguments) {
    if (!argument.positional) continue;
    if (index++ < at.positionals || !argument.required) continue;
    const std::string example = at.command->examples.empty()
                                    ? see_help(*at.command)
                                    : fmt::format("for example: {}", at.command->examples[0]);
    return wrong(fmt::format("'{}' needs {}: {}", at.command->path(), argument.names.front(), argument.about),
                 example);
  }
  if (at.positionals > index) {
    return wrong(fmt::format("'{}' takes no word '{}'", at.command->path(), printable(words.back(), 64)),
                 at.command->trailing != nullptr ? "put the command to run after --" : see_help(*at.command));
  }
  return wrong(error.what(), see_help(*at.command));
}

}  // namespace

Result<CommandLine::Chosen> CommandLine::parse(std::vector<std::string> arguments) {
  const auto dashes = std::ranges::find(arguments, "--");
  std::vector<std::string> words(arguments.begin(), dashes);
  const bool has_trailing = dashes != arguments.end();
  std::vector<std::string> trailing(has_trailing ? dashes + 1 : dashes, arguments.end());
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // the order CLI11 wants
    parser_of(*root_).parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return Chosen{.command = locate(*root_, words).command, .help = true};
  } catch (const CLI::ParseError& error) {
    return fail(explain(*root_, words, error));
  } catch (const BadValue& bad) {
    Error error = bad.error;
    if (error.next.empty()) error.next = see_help(*locate(*root_, words).command);
    return fail(std::move(error));
  }
  const CommandNode* node = chosen_node(*root_);
  if (has_trailing && node->trailing == nullptr)
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' takes nothing after --", node->path()),
                see_help(*node));
  if (has_trailing) *node->trailing = std::move(trailing);
  if (!node->action && node != root_.get())
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' needs a command", node->path()),
                fmt::format("one of: {}", fmt::join(visible_names(*node), ", ")));
  return Chosen{.command = node, .help = !node->action};
}

Position locate(const CommandNode& root, const std::vector<std::string>& words) {
  Position at{.command = &root, .unknown_command = "", .unknown_option = ""};
  for (const std::string& word : words) {
    if (at.awaiting != nullptr) {
      at.awaiting = nullptr;
      continue;
    }
    if (word == "--") {
      at.after_dashes = true;
      return at;
    }
    if (word.size() > 1 && word.front() == '-') {
      const size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      if (name == "--help" || name == "-h") continue;
      const Argument* option = at.command->find_option(name);
      if (option == nullptr && at.unknown_option.empty()) at.unknown_option = name;
      if (option != nullptr && !option->is_flag() && equals == std::string::npos) at.awaiting = option;
      continue;
    }
    const CommandNode* child = at.command->find(word);
    if (child != nullptr && at.positionals == 0) {
      at.command = child;
    } else if (!at.command->commands.empty()) {
      at.unknown_command = word;
      return at;
    } else {
      ++at.positionals;
    }
  }
  return at;
}

}  // namespace slipway::cli
