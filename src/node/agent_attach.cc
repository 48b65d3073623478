#include "node/agent_attach.h"

#include <charconv>
#include <system_error>

#include "base/file.h"
#include "base/log.h"
#include "node/agent_folder.h"
#include "node/agent_preparation.h"

namespace slipway::node {
namespace fs = std::filesystem;
namespace {

// Cuts ".<number>" off the end.
std::optional<int> take_number(std::string_view& text) {
  const size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(dot + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0) return std::nullopt;
  text.remove_suffix(text.size() - dot);
  return number;
}

void remove(const fs::path& folder, std::string_view why) {
  const Status removed = remove_folder(folder);
  if (removed) log_info("agent.folder_removed", {{"folder", folder.string()}, {"why", why}});
  if (!removed) log_warning("agent.folder_kept", {{"folder", folder.string()}, {"error", removed.error()}});
}

bool has_begun(const fs::path& folder) {
  if (FileLock::is_held(folder / "lock")) return true;
  const auto preparation = preparation_in_journal(folder / "journal");
  return !preparation || preparation->begun;  // unreadable: certainly not untouched
}

// A preparation that was cut off begins anew, but in the same journal: the server may have part of it. True:
// there is one. The folder itself stays only for its sake.
bool keep_journal_alone(const fs::path& folder) {
  const auto preparation = preparation_in_journal(folder / "journal");
  if (preparation && preparation->empty) {
    remove(folder, "it was never started");
    return false;
  }
  remove(folder / "work", "its preparation was cut off");
  return true;
}

}  // namespace

std::optional<AttemptKey> attempt_key_from_name(std::string_view name) {
  const auto rank = take_number(name);
  const auto attempt = rank ? take_number(name) : std::nullopt;
  if (!attempt || *attempt < 1 || !check_name(name, "run", 128)) return std::nullopt;
  return AttemptKey{.run = RunId(std::string(name)), .attempt = *attempt, .rank = *rank};
}

Result<std::vector<FoundAttempt>> find_attempts(const NodePaths& paths) {
  std::vector<FoundAttempt> found;
  std::error_code error;
  fs::directory_iterator folders(paths.attempts(), error);
  if (error) return fail(errno_error(error.value(), "look through " + paths.attempts().string()));
  for (const fs::directory_entry& entry : folders) {
    const fs::path& folder = entry.path();
    const auto key = attempt_key_from_name(folder.filename().native());
    if (!key || !entry.is_directory(error)) continue;
    if (fs::exists(folder / "finished", error)) {
      remove(folder, "the server has acknowledged its end");
    } else if (has_begun(folder)) {
      found.push_back({.key = *key, .standing = Standing::kStarted});
    } else if (fs::exists(folder / "spec.json", error)) {
      found.push_back({.key = *key, .standing = Standing::kNotStarted});
    } else if (keep_journal_alone(folder)) {
      found.push_back({.key = *key, .standing = Standing::kOrdered});
    }
  }
  return found;
}

}  // namespace slipway::node
