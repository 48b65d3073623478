#include "environments/build/image_builder.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "environments/build/container_engine.h"
#include "environments/build/late_packages.h"
#include "environments/build/uv_builder.h"
#include "environments/build/uv_tool.h"
#include "environments/key.h"

namespace slipway::environments {
namespace fs = std::filesystem;
namespace {

// Where the tools of a build appear within the image.
constexpr const char* kInside = "/opt/slipway-build";

// A container's name, and its removal.
class Container {
 public:
  Container(const ContainerEngine& engine, const Workshop& workshop)
      : name("slipway-" + random_base32(10)), engine_(engine), workshop_(workshop) {}
  ~Container() { engine_.remove(name, workshop_); }
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;
  const std::string name;

 private:
  const ContainerEngine& engine_;
  const Workshop& workshop_;
};

class ImageBuilder final : public Builder {
 public:
  std::string_view name() const override { return "image"; }
  Result<Lock> resolve(const EnvironmentDefinition& definition, Workshop& workshop) override;
  Status build(const EnvironmentDefinition& definition, const Lock& lock, const fs::path& folder,
               Workshop& workshop) override;
  Result<PreparedEnvironment> enter(const EnvironmentDefinition& definition, const Lock& lock,
                                    const fs::path& folder, Workshop& workshop) override;

 private:
  static Result<ImageFacts> have_image(const ContainerEngine& engine, const EnvironmentDefinition& definition,
                                       const Lock& lock, const Workshop& workshop);
};

// The tag of an image that was built here from a Dockerfile.
std::string tag_of(const EnvironmentDefinition& definition) {
  return "localhost/slipway-" + environment_key(definition).substr(0, 32);
}

// uv, the lines it is given and its cache, mounted into a container.
Result<ContainerEngine::Step> uv_step(const std::string& image, std::string_view lines, const fs::path& bench,
                                      const Workshop& workshop) {
  SLIPWAY_ASSIGN(const fs::path uv, have_uv(workshop));
  const fs::path cache = workshop.cache() / "uv-in-images";
  SLIPWAY_TRY(make_folders(bench));
  SLIPWAY_TRY(make_folders(cache));
  SLIPWAY_TRY(replace_file(bench / "requirements.in", lines, 0644));
  std::map<std::string, std::string> variables{{"UV_CACHE_DIR", fmt::format("{}/cache", kInside)},
                                               {"UV_LINK_MODE", "copy"},
                                               {"UV_BREAK_SYSTEM_PACKAGES", "1"},
                                               {"UV_NO_PROGRESS", "1"},
                                               {"NO_COLOR", "1"}};
  std::vector<std::string> mounts{fmt::format("{}:{}/uv:ro", uv.string(), kInside),
                                  fmt::format("{}:{}/bench", bench.string(), kInside),
                                  fmt::format("{}:{}/cache", cache.string(), kInside)};
  // The user's index and certificates hold in there too.
  for (const auto& [name, value] : uv_environment(workshop)) {
    if (name.starts_with("UV_") && !variables.contains(name)) variables[name] = value;
    std::error_code error;
    if (name == "SSL_CERT_FILE" && fs::exists(value, error)) {
      variables[name] = fmt::format("{}/certificates.pem", kInside);
      mounts.push_back(fmt::format("{}:{}/certificates.pem:ro", value, kInside));
    }
  }
  return ContainerEngine::Step{
      .image = image, .mounts = std::move(mounts), .variables = std::move(variables), .arguments = {}};
}

std::vector<std::string> uv_words(std::vector<std::string> words, const EnvironmentDefinition& definition) {
  words.insert(words.begin(), fmt::format("{}/uv", kInside));
  words.emplace_back("--python");
  words.push_back(definition.python.empty() ? "python3" : definition.python);
  return words;
}

Result<ImageFacts> ImageBuilder::have_image(const ContainerEngine& engine,
                                            const EnvironmentDefinition& definition, const Lock& lock,
                                            const Workshop& workshop) {
  if (!definition.container.dockerfile.empty()) {
    const std::string tag = tag_of(definition);
    return engine.build(definition.container.dockerfile, tag, workshop);
  }
  // The same bytes as the build that settled the lock had, where a registry can give them.
  const std::string& pinned = lock.fact("digest");
  return engine.have(pinned.empty() ? definition.container.image : pinned, workshop);
}

Result<Lock> ImageBuilder::resolve(const EnvironmentDefinition& definition, Workshop& workshop) {
  SLIPWAY_ASSIGN(const ContainerEngine engine, ContainerEngine::find(workshop));
  Lock lock{.builder = "image", .facts = {}, .body = ""};
  SLIPWAY_ASSIGN(const ImageFacts image, have_image(engine, definition, lock, workshop));
  lock.facts["image"] =
      definition.container.dockerfile.empty() ? definition.container.image : "(a Dockerfile)";
  lock.facts["image-id"] = image.id;
  if (!image.digest.empty()) lock.facts["digest"] = image.digest;
  SLIPWAY_ASSIGN(const UvRequirements wanted, requirements_for_uv(definition, workshop.log));
  if (wanted.packages.empty()) return lock;

  std::string lines;
  for (const auto* list : {&wanted.options, &wanted.packages})
    for (const std::string& line : *list) lines += line + "\n";
  const Container container(engine, workshop);
  const fs::path bench = workshop.environments() / "tmp" / container.name;
  SLIPWAY_ASSIGN(ContainerEngine::Step step, uv_step(image.id, lines, bench, workshop));
  step.arguments = uv_words(
      {"pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate", "--output-file",
       fmt::format("{}/bench/requirements.txt", kInside), fmt::format("{}/bench/requirements.in", kInside)},
      definition);
  workshop.log("resolving the packages within the image");
  auto end = engine.run(step, container.name, workshop);
  auto body = read_file(bench / "requirements.txt");
  std::error_code error;
  fs::remove_all(bench, error);
  if (!end) return fail(std::move(end).error());
  if (!end->good()) return fail(build_error("the packages cannot be resolved within the image", *end));
  if (!body) return fail(std::move(body).error());
  lock.body = std::move(*body);
  return lock;
}

Status ImageBuilder::build(const EnvironmentDefinition& definition, const Lock& lock, const fs::path& folder,
                           Workshop& workshop) {
  if (!workshop.hard_links)
    return fail(ErrorCode::kUnsupported,
                "this machine lets the agent make no mount namespace, which images need",
                "allow user namespaces, or run the agent as root");
  SLIPWAY_ASSIGN(const ContainerEngine engine, ContainerEngine::find(workshop));
  SLIPWAY_ASSIGN(const ImageFacts image, have_image(engine, definition, lock, workshop));
  const Container container(engine, workshop);
  if (locked_versions(lock.body).empty()) {
    SLIPWAY_TRY(engine.create(image.id, container.name, workshop));
  } else {
    const fs::path bench = workshop.environments() / "tmp" / container.name;
    SLIPWAY_ASSIGN(ContainerEngine::Step step, uv_step(image.id, lock.body, bench, workshop));
    step.arguments = uv_words({"pip", "install", "--system", "--no-deps", "--compile-bytecode",
                               "--requirements", fmt::format("{}/bench/requirements.in", kInside)},
                              definition);
    workshop.log("installing the packages into the image");
    const auto end = engine.run(step, container.name, workshop);
    std::error_code error;
    fs::remove_all(bench, error);
    if (!end) return fail(end.error());
    if (!end->good()) return fail(build_error("the packages cannot be installed into the image", *end));
  }
  SLIPWAY_TRY(engine.export_files(container.name, folder / "root", workshop));
  return replace_file(folder / "variables.json", json::serialize(to_json(image.variables)));
}

Result<PreparedEnvironment> ImageBuilder::enter(const EnvironmentDefinition& definition, const Lock& lock,
                                                const fs::path& folder, Workshop& workshop) {
  (void)lock;
  (void)workshop;
  PreparedEnvironment prepared;
  prepared.root = folder / "root";
  prepared.shm_size = definition.container.shm_size;
  SLIPWAY_ASSIGN(const std::string text, read_file(folder / "variables.json"));
  SLIPWAY_ASSIGN(const json::object variables, parse_json_object(text, "variables.json"));
  for (const auto& variable : variables)
    if (variable.value().is_string())
      prepared.variables[std::string(variable.key())] = std::string(variable.value().get_string());
  std::string& path = prepared.variables["PATH"];
  if (path.empty()) path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  return prepared;
}

}  // namespace

std::unique_ptr<Builder> make_image_builder() {
  return std::make_unique<ImageBuilder>();
}

}  // namespace slipway::environments
