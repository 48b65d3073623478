#include "environments/build/lock.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include "base/digest.h"
#include "environments/line_text.h"

namespace slipway::environments {
namespace {

constexpr std::string_view kHead = "# slipway-lock: 1\n";

}  // namespace

const std::string& Lock::fact(const std::string& name) const {
  static const std::string none;
  const auto found = facts.find(name);
  return found == facts.end() ? none : found->second;
}

std::string to_text(const Lock& lock) {
  std::string text = fmt::format("{}# builder: {}\n", kHead, lock.builder);
  for (const auto& [name, value] : lock.facts) text += fmt::format("# {}: {}\n", name, value);
  return text + "\n" + lock.body;
}

Result<Lock> parse_lock(std::string_view text) {
  if (!text.starts_with(kHead))
    return fail(ErrorCode::kInvalidArgument, "this is not a lock that this version of Slipway understands",
                "make a new one: slipway env build NAME --fresh");
  text.remove_prefix(kHead.size());
  Lock lock;
  while (text.starts_with("# ")) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(2, end - 2);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    const std::string name(line.substr(0, colon));
    const std::string value(trimmed(line.substr(colon + 2)));
    if (name == "builder") {
      lock.builder = value;
    } else {
      lock.facts[name] = value;
    }
  }
  if (text.starts_with("\n")) text.remove_prefix(1);
  lock.body = text;
  if (lock.builder.empty()) return fail(ErrorCode::kInvalidArgument, "the lock does not say what made it");
  return lock;
}

std::string lock_digest(std::string_view text) {
  return Digest::of(text).hex();
}

std::string platform() {
  utsname name{};
  ::uname(&name);
  return fmt::format("linux-{}", name.machine);
}

}  // namespace slipway::environments
