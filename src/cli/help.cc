#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/console.h"
#include "cli/quantities.h"

namespace slipway::cli {
namespace {

struct Entry {
  std::string left;
  std::string about;
};

std::string shown_names(const Argument& argument) {
  if (argument.positional) return argument.names.front();
  // The short form first, so that the long ones stand in one column.
  std::vector<std::string> names = argument.names;
  std::ranges::sort(names, {}, [](const std::string& name) { return name.size() > 2; });
  std::string text = names.front().size() > 2 ? "    " : "";
  text += fmt::format("{}", fmt::join(names, ", "));
  if (!argument.value_name.empty()) text += " " + argument.value_name;
  return text;
}

std::string wrapped(std::string_view text, size_t indent, size_t width) {
  if (width <= indent + 20) return std::string(text);
  std::string out;
  size_t column = indent;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const size_t columns = display_width(word);
    if (column > indent && column + 1 + columns > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns;
    at = end + 1;
  }
  return out;
}

void print_section(std::string_view title, const std::vector<Entry>& entries, int width, bool colour,
                   std::string& out) {
  if (entries.empty()) return;
  out += fmt::format("\n{}\n", paint(title, Colour::kBold, colour));
  size_t left = 0;
  for (const Entry& entry : entries) left = std::max(left, std::min<size_t>(display_width(entry.left), 30));
  const size_t indent = left + 4;
  for (const Entry& entry : entries) {
    const size_t columns = display_width(entry.left);
    out += "  " + entry.left;
    out += columns > left ? "\n" + std::string(indent, ' ') : std::string(indent - 2 - columns, ' ');
    out += wrapped(entry.about, indent, static_cast<size_t>(width)) + "\n";
  }
}

std::string usage(const CommandNode& node) {
  std::string text = node.path();
  if (!node.commands.empty()) text += node.action ? " [COMMAND]" : " COMMAND";
  for (const Argument& argument : node.arguments) {
    if (!argument.positional) continue;
    const std::string name = argument.names.front() + (argument.repeated ? "..." : "");
    text += argument.required ? " " + name : fmt::format(" [{}]", name);
  }
  text += " [OPTIONS]";
  if (node.trailing != nullptr) text += fmt::format(" [-- {}]", node.trailing_name);
  return text;
}

}  // namespace

std::string help_text(const CommandNode& node, int width, bool colour) {
  std::string out = node.about + "\n\n" + paint("Usage:", Colour::kBold, colour) + " " + usage(node) + "\n";
  std::vector<Entry> commands, positionals, options, global;
  for (const auto& command : node.commands)
    if (!command->hidden) commands.push_back({command->name, command->about});
  for (const Argument& argument : node.arguments) {
    if (argument.hidden) continue;
    Entry entry{shown_names(argument), argument.about};
    (argument.positional      ? positionals
     : node.parent == nullptr ? global
                              : options)
        .push_back(std::move(entry));
  }
  for (const CommandNode* above = node.parent; above != nullptr; above = above->parent)
    for (const Argument& argument : above->arguments)
      if (!argument.hidden) global.push_back({shown_names(argument), argument.about});
  global.push_back({"-h, --help", "show this help"});
  print_section("Commands:", commands, width, colour, out);
  print_section("Arguments:", positionals, width, colour, out);
  print_section("Options:", options, width, colour, out);
  print_section("Everywhere:", global, width, colour, out);
  if (!node.examples.empty()) {
    out += fmt::format("\n{}\n",
                       paint(node.examples.size() == 1 ? "Example:" : "Examples:", Colour::kBold, colour));
    for (const std::string& example : node.examples) out += "  " + example + "\n";
  }
  return out;
}

}  // namespace slipway::cli
