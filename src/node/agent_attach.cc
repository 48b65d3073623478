#include "node/agent_attach.h"

#include <charconv>
#include <system_error>

#include "base/file.h"
#include "base/log.h"
#include "journal/segments.h"
#include "node/agent_folder.h"

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
  const auto segments = journal::list_segments(folder / "journal");
  if (!segments) return true;  // unreadable: certainly not untouched
  for (const journal::Segment& segment : *segments) {
    if (segment.size > 0) return true;
  }
  return false;
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
    } else if (!fs::exists(folder / "spec.json", error) && !fs::exists(folder / "lock", error)) {
      remove(folder, "it was never started");
    } else {
      found.push_back(
          {.key = *key, .standing = has_begun(folder) ? Standing::kStarted : Standing::kNotStarted});
    }
  }
  return found;
}

}  // namespace slipway::node
