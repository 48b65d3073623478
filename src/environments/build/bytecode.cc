#include "environments/build/bytecode.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "environments/line_text.h"

namespace slipway::environments {
namespace fs = std::filesystem;
namespace {

// One installed distribution: where its sources are, and what names their content.
struct Distribution {
  std::vector<std::string> sources;  // below site-packages
  std::string digest;
};

bool is_source(std::string_view path) {
  return path.ends_with(".py") && is_clean_relative_path(path);
}

// RECORD: "path,sha256=...,size" a line. Paths with a comma are quoted and never a source we need.
Distribution read_distribution(const fs::path& record, std::string_view tag) {
  Distribution distribution;
  const auto text = read_file(record, 64 << 20);
  if (!text) return distribution;
  std::vector<std::string_view> lines;
  for (const std::string_view line : pieces_of(*text, '\n')) {
    const std::string_view path = line.substr(0, line.find(','));
    if (!is_source(path)) continue;
    lines.push_back(line);
    distribution.sources.emplace_back(path);
  }
  std::ranges::sort(lines);
  std::string content(tag);
  for (const std::string_view line : lines) content.append("\n").append(line);
  distribution.digest = Digest::of(content).hex();
  return distribution;
}

// "pkg/mod.py" -> "pkg/__pycache__/mod.cpython-311.pyc"
std::string compiled_name(std::string_view source, std::string_view tag) {
  const size_t slash = source.rfind('/');
  const std::string_view folder = slash == std::string_view::npos ? "" : source.substr(0, slash + 1);
  const std::string_view file = slash == std::string_view::npos ? source : source.substr(slash + 1);
  return fmt::format("{}__pycache__/{}.{}.pyc", folder, file.substr(0, file.size() - 3), tag);
}

// Whether the interpreter would take it: the head holds the source's time, at 4 before Python 3.7 and at 8
// since.
bool fits(const fs::path& compiled, const fs::path& source, bool old_head) {
  struct stat status{};
  std::array<unsigned char, 16> head{};
  const UniqueFd fd(::open(compiled.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::stat(source.c_str(), &status) != 0) return false;
  if (::read(fd.get(), head.data(), head.size()) != static_cast<ssize_t>(head.size())) return false;
  const size_t at = old_head ? 4 : 8;
  const uint32_t time = head[at] | static_cast<uint32_t>(head[at + 1]) << 8 |
                        static_cast<uint32_t>(head[at + 2]) << 16 | static_cast<uint32_t>(head[at + 3]) << 24;
  return time == static_cast<uint32_t>(status.st_mtim.tv_sec);
}

class BytecodeStore {
 public:
  BytecodeStore(fs::path folder, fs::path site, std::string tag)
      : folder_(std::move(folder)),
        site_(std::move(site)),
        tag_(std::move(tag)),
        old_head_(tag_ == "cpython-36") {}

  // True: all there was in the store is in the environment now.
  bool take(const Distribution& distribution) {
    const fs::path stored = folder_ / distribution.digest;
    std::error_code error;
    if (!fs::exists(stored, error)) return false;
    bool checked = false;
    for (const std::string& source : distribution.sources) {
      const std::string name = compiled_name(source, tag_);
      if (!checked) {
        if (::access((stored / name).c_str(), R_OK) != 0) continue;  // one that does not compile
        if (!fits(stored / name, site_ / source, old_head_)) {
          fs::remove_all(stored, error);
          return false;
        }
        checked = true;
      }
      link(stored / name, site_ / name);
    }
    return true;
  }

  void give(const Distribution& distribution) {
    const fs::path aside = folder_ / (distribution.digest + ".new");
    std::error_code error;
    fs::remove_all(aside, error);
    fs::create_directories(aside, error);
    made_.clear();
    for (const std::string& source : distribution.sources) {
      const std::string name = compiled_name(source, tag_);
      link(site_ / name, aside / name);
    }
    fs::rename(aside, folder_ / distribution.digest, error);
    if (error) fs::remove_all(aside, error);
    made_.clear();
  }

 private:
  void link(const fs::path& from, const fs::path& to) {
    const fs::path parent = to.parent_path();
    if (made_.insert(parent.native()).second) {
      std::error_code error;
      fs::create_directories(parent, error);
    }
    (void)::link(from.c_str(), to.c_str());
  }

  const fs::path folder_;
  const fs::path site_;
  const std::string tag_;
  const bool old_head_;
  std::set<std::string> made_;  // folders that are there
};

std::string tag_of(const fs::path& site_packages) {
  // .../lib/python3.11/site-packages
  std::string version = site_packages.parent_path().filename().string();
  std::erase(version, '.');
  return "cpython-" + version.substr(std::min<size_t>(6, version.size()));
}

Status compile(const fs::path& python, const fs::path& site, const std::vector<const Distribution*>& missing,
               const Workshop& workshop) {
  // Folders are compiled by all processors at once, files one after the other: what lies in a folder goes
  // with it.
  std::set<std::string> places;
  for (const Distribution* distribution : missing)
    for (const std::string& source : distribution->sources) places.insert(source.substr(0, source.find('/')));
  ProgramCall call{.program = python,
                   .arguments = {"-m", "compileall", "-q", "-j", "0"},
                   .environment = workshop.variables,
                   .folder = site,
                   .longest = std::chrono::minutes(30),
                   .wanted = {},
                   .on_line = [](std::string_view) {},  // sources of other Pythons: no concern of anybody's
                   .keep_output = false};
  for (const char* name : {"PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPATH", "PYTHONPYCACHEPREFIX"})
    call.environment.erase(name);
  call.arguments.insert(call.arguments.end(), places.begin(), places.end());
  auto end = workshop.run(std::move(call));
  if (!end) return fail(std::move(end).error());
  return {};
}

}  // namespace

Status add_bytecode(const fs::path& python, const fs::path& site_packages, const Workshop& workshop) {
  const std::string tag = tag_of(site_packages);
  const fs::path folder = workshop.cache() / "bytecode";
  SLIPWAY_TRY(make_folders(folder));
  BytecodeStore store(folder, site_packages, tag);
  std::vector<Distribution> distributions;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(site_packages, error)) {
    if (!entry.path().native().ends_with(".dist-info")) continue;
    Distribution distribution = read_distribution(entry.path() / "RECORD", tag);
    if (!distribution.sources.empty()) distributions.push_back(std::move(distribution));
  }
  std::vector<const Distribution*> missing;
  for (const Distribution& distribution : distributions)
    if (!store.take(distribution)) missing.push_back(&distribution);
  if (missing.empty()) return {};
  workshop.log(fmt::format("compiling {} of {} packages to bytecode", missing.size(), distributions.size()));
  SLIPWAY_TRY(compile(python, site_packages, missing, workshop));
  for (const Distribution* distribution : missing) store.give(*distribution);
  return {};
}

}  // namespace slipway::environments
