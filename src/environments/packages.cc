#include "environments/packages.h"

#include "environments/conda_spec.h"
#include "environments/line_text.h"
#include "environments/requirement.h"

namespace slipway::environments {
namespace {

void add_requirement(std::string_view line, Packages& packages) {
  if (is_resolver_option(line)) return;
  const Result<Requirement> requirement = parse_requirement(line);
  if (!requirement) return;
  const std::string name = requirement->name.empty() ? requirement->url : package_name(requirement->name);
  packages[name] = requirement->url.empty() ? requirement->constraint : requirement->url;
}

// ".../linux-64/numpy-1.26.4-py311h64a7726_0.conda#digest": name, version and build are cut from the right.
bool add_conda_address(std::string_view line, Packages& packages) {
  if (line.find("://") == std::string_view::npos || line.find(" @ ") != std::string_view::npos) return false;
  std::string_view file = line.substr(0, line.find('#'));
  file = file.substr(file.rfind('/') + 1);
  bool known = false;
  for (const std::string_view ending : {".conda", ".tar.bz2"}) {
    if (!file.ends_with(ending)) continue;
    file.remove_suffix(ending.size());
    known = true;
  }
  const size_t build = file.rfind('-');
  if (!known || build == std::string_view::npos || build == 0) return false;
  const size_t version = file.rfind('-', build - 1);
  if (version == std::string_view::npos) return false;
  packages[package_name(file.substr(0, version))] =
      std::string(file.substr(version + 1, build - version - 1));
  return true;
}

json::value text_or_null(const Packages& packages, const std::string& name) {
  const auto found = packages.find(name);
  if (found == packages.end()) return nullptr;
  return json::string(found->second);
}

}  // namespace

Packages packages_of(const EnvironmentDefinition& definition) {
  Packages packages;
  for (const std::string& line : definition.conda)
    if (const Result<CondaSpec> spec = parse_conda_spec(line))
      packages[package_name(spec->name)] = spec->constraint;
  for (const std::string& line : definition.pip) add_requirement(line, packages);
  if (!definition.python.empty()) packages["python"] = definition.python;
  if (!definition.container.image.empty()) packages["image"] = definition.container.image;
  return packages;
}

Packages packages_of_lock(std::string_view lock) {
  Packages packages;
  for (std::string_view line : pieces_of(lock, '\n')) {
    line = line.substr(0, line.find(" #"));
    while (line.ends_with('\\')) line = trimmed(line.substr(0, line.size() - 1));
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("image ")) {
      packages["image"] = std::string(trimmed(line.substr(6)));
    } else if (!add_conda_address(line, packages)) {
      add_requirement(line, packages);
    }
  }
  for (auto& [name, version] : packages)
    if (version.starts_with("==")) version.erase(0, version.find_first_not_of('='));
  return packages;
}

json::array package_changes(const Packages& from, const Packages& to) {
  std::map<std::string, std::string_view> changes;
  for (const auto& [name, version] : from) {
    const auto other = to.find(name);
    if (other == to.end()) {
      changes[name] = "removed";
    } else if (other->second != version) {
      changes[name] = "changed";
    }
  }
  for (const auto& [name, version] : to)
    if (!from.contains(name)) changes[name] = "added";
  json::array list;
  for (const auto& [name, change] : changes)
    list.push_back(json::object{{"name", name},
                                {"change", change},
                                {"from", text_or_null(from, name)},
                                {"to", text_or_null(to, name)}});
  return list;
}

}  // namespace slipway::environments
