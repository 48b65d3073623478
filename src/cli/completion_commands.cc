#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "cli/answer.h"
#include "cli/completion.h"
#include "cli/completion_commands.h"
#include "cli/context.h"
#include "cli/quantities.h"
#include "cli/session.h"
#include "client/connection.h"
#include "environments/curated.h"

namespace slipway::cli {
namespace {

constexpr size_t kMostNames = 100;
// Nobody waits longer than this for a suggestion.
constexpr std::chrono::milliseconds kLongestWait{700};

struct Names {
  std::string path;
  std::string name_field;
  std::string about_field;
};

Names names_of(Completes kind, const client::Connection& connection) {
  switch (kind) {
    case Completes::kRun: return {connection.in_workspace("/runs"), "id", "state"};
    case Completes::kCluster: return {connection.in_workspace("/compute"), "name", "priority"};
    case Completes::kEnvironment: return {connection.in_workspace("/environments"), "name", "description"};
    case Completes::kExperiment: return {connection.in_workspace("/experiments"), "name", ""};
    case Completes::kWorkspace: return {"/api/v1/workspaces", "name", "description"};
    case Completes::kToken: return {"/api/v1/tokens", "id", "name"};
    case Completes::kDatastore: return {connection.in_workspace("/datastores"), "name", "kind"};
    case Completes::kDataset: return {connection.in_workspace("/data"), "name", "description"};
    case Completes::kModel: return {connection.in_workspace("/models"), "id", "framework"};
    case Completes::kService: return {connection.in_workspace("/services"), "name", "state"};
    default: return {};
  }
}

// Those that are shipped stand in the program itself.
void add_shipped(std::vector<Candidate>& found) {
  for (const environments::CuratedEnvironment& curated : environments::curated_environments())
    if (found.empty() || found.back().word != curated.name)
      found.push_back({curated.name, curated.description});
}

std::vector<Candidate> ask_server(const Context& context, Completes kind) {
  Result<Session> session = Session::open(context);
  if (!session) return {};
  client::Connection connection = session->connection();
  connection.http.connect_time = kLongestWait;
  connection.http.answer_time = kLongestWait;
  const Names names = names_of(kind, connection);
  client::Requests requests(connection, {.tries = 1});
  const Result<client::Page> page = requests.page(names.path, {{"limit", std::to_string(kMostNames)}});
  if (!page) return {};
  std::vector<Candidate> found;
  for (const json::value& item : page->items) {
    if (!item.is_object()) continue;
    const json::object& object = item.get_object();
    found.push_back({text_at(object, names.name_field),
                     names.about_field.empty() ? "" : text_at(object, names.about_field)});
  }
  if (kind == Completes::kEnvironment) add_shipped(found);
  return found;
}

// The global options among the words say which server is asked; the line need not be complete to hold them.
void take_global_options(GlobalOptions& options, const std::vector<std::string>& words) {
  const std::pair<const char*, std::string*> known[] = {{"--home", &options.home},
                                                        {"--server", &options.server},
                                                        {"--workspace", &options.workspace},
                                                        {"--token-file", &options.token_file},
                                                        {"--ca-file", &options.ca_file}};
  for (size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i)
    for (const auto& [name, target] : known) {
      if (words[i] == name) *target = words[i + 1];
      if (words[i].starts_with(std::string(name) + "=")) *target = words[i].substr(words[i].find('=') + 1);
    }
}

}  // namespace

int print_completions(Context& context, const std::vector<std::string>& words) {
  take_global_options(context.options, words);
  const Completion completion =
      complete(*context.tree, words, [&](Completes kind) { return ask_server(context, kind); });
  for (const Candidate& candidate : completion.candidates)
    context.console.line(fmt::format("{}\t{}", printable(candidate.word), printable(candidate.about, 80)));
  if (completion.files) context.console.line(":file");
  if (completion.folders) context.console.line(":folder");
  return 0;
}

void add_completion_commands(Command root, Context& context) {
  const auto shell = std::make_shared<std::string>();
  Command completion =
      root.command("completion", "Print a script that completes commands, options, runs and names in a shell",
                   "source <(slipway completion bash)");
  completion.example("slipway completion zsh > ~/.zfunc/_slipway");
  completion.example("slipway completion fish > ~/.config/fish/completions/slipway.fish");
  completion.positional_choice("SHELL", *shell, {"bash", "zsh", "fish"}, "bash, zsh or fish");
  completion.action([shell, &context]() -> Result<int> {
    if (*shell != "bash" && *shell != "zsh" && *shell != "fish")
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("there is no completion for '{}'", printable(*shell, 32)),
                  "use one of: bash, zsh, fish");
    context.console.out(completion_script(*shell));
    return 0;
  });
}

}  // namespace slipway::cli
