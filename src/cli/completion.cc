#include "cli/completion.h"

#include "cli/run_view.h"

namespace slipway::cli {
namespace {

void keep(Completion& completion, std::string_view prefix, std::string word, std::string about) {
  if (word.starts_with(prefix)) completion.candidates.push_back({std::move(word), std::move(about)});
}

void complete_value(Completion& completion, const Argument& argument, std::string_view prefix,
                    std::string_view before, const Lookup& lookup) {
  const auto add = [&](const std::string& word, const std::string& about) {
    if (word.starts_with(prefix)) completion.candidates.push_back({std::string(before) + word, about});
  };
  switch (argument.completes) {
    case Completes::kNothing: return;
    case Completes::kFile: completion.files = true; return;
    case Completes::kFolder: completion.folders = true; return;
    case Completes::kChoice:
      for (const std::string& choice : argument.choices) add(choice, "");
      return;
    case Completes::kState:
      for (const std::string& state : run_states()) add(state, "");
      return;
    case Completes::kRun: add("latest", "the newest run"); [[fallthrough]];
    case Completes::kCluster:
    case Completes::kEnvironment:
    case Completes::kExperiment:
    case Completes::kWorkspace:
    case Completes::kToken:
    case Completes::kDatastore:
    case Completes::kDataset:
    case Completes::kModel:
    case Completes::kService:
      for (const Candidate& found : lookup(argument.completes)) add(found.word, found.about);
      return;
  }
}

void complete_options(Completion& completion, const CommandNode& node, std::string_view typed) {
  for (const CommandNode* at = &node; at != nullptr; at = at->parent)
    for (const Argument& argument : at->arguments)
      if (!argument.positional && !argument.hidden)
        for (const std::string& name : argument.names)
          if (name.starts_with("--") || typed == "-") keep(completion, typed, name, argument.about);
  keep(completion, typed, "--help", "show help");
}

const Argument* positional_at(const CommandNode& node, size_t index) {
  const Argument* last = nullptr;
  for (const Argument& argument : node.arguments) {
    if (!argument.positional) continue;
    last = &argument;
    if (index-- == 0) return last;
  }
  return last != nullptr && last->repeated ? last : nullptr;
}

}  // namespace

Completion complete(const CommandNode& root, const std::vector<std::string>& words, const Lookup& lookup) {
  Completion completion;
  if (words.empty()) return completion;
  const std::string& typed = words.back();
  const Position at = locate(root, {words.begin(), words.end() - 1});
  if (!at.unknown_command.empty()) return completion;
  if (at.after_dashes) {
    completion.files = true;
    return completion;
  }
  if (at.awaiting != nullptr) {
    complete_value(completion, *at.awaiting, typed, "", lookup);
    return completion;
  }
  if (typed.starts_with('-')) {
    const size_t equals = typed.find('=');
    const Argument* option =
        equals == std::string::npos ? nullptr : at.command->find_option(typed.substr(0, equals));
    if (option != nullptr) {
      complete_value(completion, *option, typed.substr(equals + 1), typed.substr(0, equals + 1), lookup);
    } else {
      complete_options(completion, *at.command, typed);
    }
    if (at.command->trailing != nullptr) keep(completion, typed, "--", "the command to run follows");
    return completion;
  }
  for (const auto& command : at.command->commands)
    if (!command->hidden) keep(completion, typed, command->name, command->about);
  if (const Argument* positional = positional_at(*at.command, at.positionals); positional != nullptr)
    complete_value(completion, *positional, typed, "", lookup);
  return completion;
}

// Each script asks the program itself, so that none of them knows a command or an option. The answer has a
// candidate on each line, a tab and what it is; ":file" and ":folder" stand for the shell's own completion.
std::string completion_script(const std::string& shell) {
  if (shell == "bash") {
    return R"(# slipway completion for bash. To load it: source <(slipway completion bash)
_slipway() {
  local word line current
  local -a words=()
  COMPREPLY=()
  # Bash takes --option=value for three words; the program wants one.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ ${#words[@]} -gt 0 && ( $word == "=" || ${words[-1]} == -*= ) ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  current=${words[-1]-}
  while IFS= read -r line; do
    line=${line%%$'\t'*}
    case $line in
      :file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "${current#-*=}") ;;
      :folder) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "${current#-*=}") ;;
      -*=*) COMPREPLY+=("${line#*=}") ;;
      ?*) COMPREPLY+=("$line") ;;
    esac
  done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
}
complete -F _slipway slipway
)";
  }
  if (shell == "zsh") {
    return R"(#compdef slipway
# slipway completion for zsh. To load it: source <(slipway completion zsh)
_slipway() {
  local line tab=$'\t'
  local -a candidates
  for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :file) _files ;;
      :folder) _files -/ ;;
      ?*) candidates+=("${${line%%$tab*}//:/\\:}:${line#*$tab}") ;;
    esac
  done
  (( ${#candidates} )) && _describe -t slipway slipway candidates
}
if [[ ${funcstack[1]} == _slipway ]]; then
  _slipway "$@"
elif (( ${+functions[compdef]} )); then
  compdef _slipway slipway
fi
)";
  }
  return R"(# slipway completion for fish. To load it: slipway completion fish | source
function __slipway_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in ($program __complete $words "$current" 2>/dev/null)
        switch $line
            case :file
                __fish_complete_path "$current"
            case :folder
                __fish_complete_directories "$current"
            case '*'
                echo $line
        end
    end
end
complete -c slipway -e
complete -c slipway -f -k -a '(__slipway_complete)'
)";
}

}  // namespace slipway::cli
