#include "snapshot/git.h"

#include <filesystem>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "base/subprocess.h"

namespace slipway::snapshot {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

// The caller's environment without what would point git elsewhere, and with what keeps it quiet.
std::map<std::string, std::string> git_environment() {
  std::map<std::string, std::string> variables = own_environment();
  std::erase_if(variables, [](const auto& variable) { return variable.first.starts_with("GIT_"); });
  for (const auto& [name, value] :
       {std::pair("GIT_OPTIONAL_LOCKS", "0"), std::pair("GIT_TERMINAL_PROMPT", "0"),
        std::pair("GIT_ASKPASS", ""), std::pair("LC_ALL", "C")})
    variables[name] = value;
  return variables;
}

// What git wrote, when it ended well in time.
std::optional<std::string> run_git(const std::string& folder, std::vector<std::string> arguments,
                                   Deadline deadline) {
  const std::map<std::string, std::string> environment = git_environment();
  const auto path = environment.find("PATH");
  const std::filesystem::path git =
      find_on_path("git", path == environment.end() ? "/usr/bin:/bin" : path->second);
  if (git.empty()) return std::nullopt;
  // A repository may name a program of its own as file system monitor; it is not run.
  std::vector<std::string> all{"-C", folder, "-c", "core.fsmonitor=false"};
  all.insert(all.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  const auto end = run_program(
      {.program = git,
       .arguments = std::move(all),
       .environment = environment,
       .folder = {},
       .longest = std::chrono::duration_cast<Duration>(deadline - std::chrono::steady_clock::now()),
       .wanted = {},
       .on_line = {},
       .keep_output = true});
  return end && end->good() ? std::optional(end->output) : std::nullopt;
}

// Calls `take` with each piece of a list whose pieces end with `end`.
template <class Take>
void for_each_piece(std::string_view text, char end, const Take& take) {
  while (!text.empty()) {
    const size_t size = std::min(text.find(end), text.size());
    take(text.substr(0, size));
    text.remove_prefix(std::min(size + 1, text.size()));
  }
}

std::string_view after(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string_view();
}

// `git status --porcelain=v2 --branch -z`
GitState parse_status(std::string_view text, std::string& upstream) {
  GitState state;
  for_each_piece(text, '\0', [&](std::string_view line) {
    if (!line.starts_with("# ")) {
      state.dirty = true;
    } else if (const auto commit = after(line, "# branch.oid "); !commit.empty()) {
      if (commit != "(initial)") state.commit = commit;
    } else if (const auto branch = after(line, "# branch.head "); !branch.empty()) {
      if (branch != "(detached)") state.branch = branch;
    } else if (const auto tracked = after(line, "# branch.upstream "); !tracked.empty()) {
      upstream = tracked;
    }
  });
  return state;
}

// `git config -z --get-regexp ^remote\..*\.url$`: "remote.origin.url\nhttps://..."
std::string choose_remote(std::string_view text, std::string_view upstream) {
  std::string first;
  std::string origin;
  std::string tracked;
  for_each_piece(text, '\0', [&](std::string_view line) {
    const size_t end = line.find('\n');
    if (end == std::string_view::npos) return;
    std::string_view name = after(line.substr(0, end), "remote.");
    name.remove_suffix(std::min(name.size(), std::string_view(".url").size()));
    const std::string url = without_credentials(line.substr(end + 1));
    if (first.empty()) first = url;
    if (name == "origin" && origin.empty()) origin = url;
    if (upstream.starts_with(std::string(name) + "/") && tracked.empty()) tracked = url;
  });
  if (!tracked.empty()) return tracked;
  return origin.empty() ? first : origin;
}

// When `git status` is too slow for us: where HEAD is, without a look at the files.
GitState read_head(const std::string& folder) {
  GitState state;
  const auto text = run_git(folder, {"rev-parse", "HEAD", "--abbrev-ref", "HEAD"},
                            std::chrono::steady_clock::now() + std::chrono::seconds(1));
  if (!text) return state;
  for_each_piece(*text, '\n', [&](std::string_view line) {
    if (state.commit.empty()) {
      state.commit = line;
    } else if (line != "HEAD") {
      state.branch = line;
    }
  });
  state.dirty = !state.commit.empty();
  return state;
}

}  // namespace

GitState read_git_state(const std::filesystem::path& folder, std::chrono::milliseconds limit) {
  const Deadline deadline = std::chrono::steady_clock::now() + limit;
  const std::string path = folder.string();
  // Both at once: starting a program is most of the cost.
  std::optional<std::string> urls;
  std::thread remotes([&] {
    urls = run_git(path, {"config", "-z", "--get-regexp", "^remote\\..*\\.url$"},
                   deadline + std::chrono::seconds(1));
  });
  const auto told = run_git(path,
                            {"--no-pager", "status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z",
                             "--untracked-files=normal", "--ignore-submodules=dirty", "--", "."},
                            deadline);
  remotes.join();
  std::string upstream;
  const bool too_slow = !told && std::chrono::steady_clock::now() >= deadline;
  GitState state = told ? parse_status(*told, upstream) : too_slow ? read_head(path) : GitState();
  if (state.commit.empty()) return {};
  if (urls) state.remote = choose_remote(*urls, upstream);
  return state;
}

std::string without_credentials(std::string_view url) {
  const size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return std::string(url);
  const std::string_view scheme = url.substr(0, scheme_end + 3);
  std::string_view rest = url.substr(scheme.size());
  rest = rest.substr(0, rest.find_first_of("?#"));
  const size_t authority_end = std::min(rest.find('/'), rest.size());
  const size_t at = rest.substr(0, authority_end).rfind('@');
  if (at == std::string_view::npos) return std::string(scheme) + std::string(rest);
  const std::string_view user = rest.substr(0, rest.find_first_of(":@"));
  const bool keeps_user = scheme == "ssh://" && !user.empty();
  return std::string(scheme) + (keeps_user ? std::string(user) + "@" : "") + std::string(rest.substr(at + 1));
}

}  // namespace slipway::snapshot
