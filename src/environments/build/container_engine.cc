#include "environments/build/container_engine.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"

namespace slipway::environments {
namespace fs = std::filesystem;
namespace {

bool docker_answers(const fs::path& docker, const Workshop& workshop) {
  const auto end = workshop.run({.program = docker,
                                 .arguments = {"info", "--format", "{{.ServerVersion}}"},
                                 .environment = workshop.variables,
                                 .folder = {},
                                 .longest = std::chrono::seconds(10),
                                 .wanted = {},
                                 .on_line = [](std::string_view) {},
                                 .keep_output = true});
  return end && end->good();
}

// Root without the right to raise limits cannot give a container the engine's own, higher ones.
std::vector<std::string> own_limits() {
  std::vector<std::string> options;
  const auto add = [&](const char* name, auto resource, rlim_t most) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) == 0)
      options.push_back(fmt::format("--ulimit={0}={1}:{1}", name, std::min(limit.rlim_max, most)));
  };
  // Podman lowers its own before it starts a container; these are below what it leaves.
  add("nofile", RLIMIT_NOFILE, 1 << 20);
  add("nproc", RLIMIT_NPROC, 32768);
  return options;
}

std::string text_of(const json::value* value) {
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

ImageFacts facts_from(const json::object& image) {
  ImageFacts facts{.id = text_of(image.if_contains("Id")), .digest = "", .variables = {}};
  if (const json::value* digests = image.if_contains("RepoDigests");
      digests != nullptr && digests->is_array())
    for (const json::value& digest : digests->get_array())
      // One that was never in a registry has a digest of this machine's own, which nobody else can fetch.
      if (digest.is_string() && !digest.get_string().starts_with("localhost/"))
        facts.digest = text_of(&digest);
  const json::value* config = image.if_contains("Config");
  const json::value* variables =
      config != nullptr && config->is_object() ? config->get_object().if_contains("Env") : nullptr;
  if (variables == nullptr || !variables->is_array()) return facts;
  for (const json::value& variable : variables->get_array()) {
    const std::string text = text_of(&variable);
    const size_t equals = text.find('=');
    if (equals != std::string::npos) facts.variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return facts;
}

}  // namespace

Result<ContainerEngine> ContainerEngine::find(const Workshop& workshop) {
  if (fs::path podman = workshop.find("podman"); !podman.empty())
    return ContainerEngine("podman", std::move(podman));
  if (fs::path docker = workshop.find("docker"); !docker.empty() && docker_answers(docker, workshop))
    return ContainerEngine("docker", std::move(docker));
  return fail(
      ErrorCode::kUnsupported,
      "this environment is an image, and this machine has neither Podman nor a Docker engine that answers",
      "install one on the node: apt install podman");
}

ProgramCall ContainerEngine::call(std::vector<std::string> arguments, const Workshop& workshop) const {
  std::vector<std::string> all;
  // What works without systemd too; a user who has configured Podman is not second-guessed.
  if (name_ == "podman" && ::geteuid() == 0 && workshop.variable("CONTAINERS_CONF").empty()) {
    all = {"--cgroup-manager=cgroupfs", "--events-backend=file"};
    if (!workshop.find("runc").empty()) all.emplace_back("--runtime=runc");
  }
  all.insert(all.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  return {.program = program_,
          .arguments = std::move(all),
          .environment = workshop.variables,
          .folder = {},
          .longest = std::chrono::hours(2),
          .wanted = {},
          .on_line = {},
          .keep_output = false};
}

std::vector<std::string> ContainerEngine::run_options(const Workshop& workshop) const {
  std::vector<std::string> options{"--network=host"};
  if (name_ == "podman" && workshop.variable("CONTAINERS_CONF").empty())
    for (std::string& limit : own_limits()) options.push_back(std::move(limit));
  return options;
}

Result<ImageFacts> ContainerEngine::inspect(const std::string& image, const Workshop& workshop) const {
  ProgramCall ask = call({"image", "inspect", "--", image}, workshop);
  ask.keep_output = true;
  ask.on_line = [](std::string_view) {};
  SLIPWAY_ASSIGN(const ProgramEnd end, workshop.run(std::move(ask)));
  if (!end.good()) return fail(ErrorCode::kNotFound, reason_of(end));
  SLIPWAY_ASSIGN(const json::value answer, parse_json(end.output, "the engine's words about an image"));
  if (!answer.is_array() || answer.get_array().empty() || !answer.get_array()[0].is_object())
    return fail(ErrorCode::kInternal, fmt::format("{} describes image {} in an unknown form", name_, image));
  return facts_from(answer.get_array()[0].get_object());
}

Result<ImageFacts> ContainerEngine::have(const std::string& image, const Workshop& workshop) const {
  if (auto here = inspect(image, workshop); here || here.error().code != ErrorCode::kNotFound) return here;
  workshop.log(fmt::format("fetching the image {} with {}", image, name_));
  SLIPWAY_ASSIGN(const ProgramEnd end, workshop.run(call({"pull", "--quiet", image}, workshop)));
  if (end.good()) return inspect(image, workshop);
  const std::string reason = reason_of(end);
  const std::string next =
      reason.contains("unauthorized")
          ? fmt::format("log in on the node, as the user its agent runs as: {} login {}", name_,
                        image.substr(0, image.find('/')))
          : fmt::format("check its name, and that this machine may fetch it: {} pull {}", name_, image);
  return fail(ErrorCode::kNotFound, fmt::format("the image {} cannot be had: {}", image, reason), next);
}

Result<ImageFacts> ContainerEngine::build(const std::string& dockerfile, const std::string& tag,
                                          const Workshop& workshop) const {
  const fs::path context = workshop.environments() / "tmp" / tag;
  SLIPWAY_TRY(make_folders(context));
  SLIPWAY_TRY(replace_file(context / "Dockerfile", dockerfile, 0644));
  workshop.log(fmt::format("building the image with {}", name_));
  std::vector<std::string> arguments{"build", "--tag", tag};
  for (std::string& option : run_options(workshop)) arguments.push_back(std::move(option));
  arguments.push_back(context.string());
  auto end = workshop.run(call(std::move(arguments), workshop));
  std::error_code error;
  fs::remove_all(context, error);
  if (!end) return fail(std::move(end).error());
  if (!end->good()) return fail(build_error("the image cannot be built from its Dockerfile", *end));
  return inspect(tag, workshop);
}

Result<ProgramEnd> ContainerEngine::run(const Step& step, const std::string& container,
                                        const Workshop& workshop) const {
  std::vector<std::string> arguments{"run", "--name", container, "--entrypoint", ""};
  for (std::string& option : run_options(workshop)) arguments.push_back(std::move(option));
  for (const std::string& mount : step.mounts) {
    arguments.emplace_back("--volume");
    arguments.push_back(mount);
  }
  for (const auto& [name, value] : step.variables) {
    arguments.emplace_back("--env");
    arguments.push_back(fmt::format("{}={}", name, value));
  }
  arguments.push_back(step.image);
  arguments.insert(arguments.end(), step.arguments.begin(), step.arguments.end());
  return workshop.run(call(std::move(arguments), workshop));
}

Status ContainerEngine::create(const std::string& image, const std::string& container,
                               const Workshop& workshop) const {
  ProgramCall make = call({"create", "--name", container, "--network=host", image, "/bin/true"}, workshop);
  make.on_line = [](std::string_view) {};
  SLIPWAY_ASSIGN(const ProgramEnd end, workshop.run(std::move(make)));
  if (!end.good()) return fail(build_error("the image cannot be opened", end));
  return {};
}

Status ContainerEngine::export_files(const std::string& container, const fs::path& folder,
                                     const Workshop& workshop) const {
  SLIPWAY_TRY(make_folders(folder));
  const fs::path archive = folder.string() + ".tar";
  workshop.log("unpacking the image");
  SLIPWAY_ASSIGN(const ProgramEnd exported,
                 workshop.run(call({"export", "--output", archive.string(), container}, workshop)));
  if (!exported.good()) return fail(build_error("the image cannot be unpacked", exported));
  const fs::path tar = workshop.find("tar");
  if (tar.empty())
    return fail(ErrorCode::kUnsupported, "there is no tar on this machine to unpack images with",
                "apt install tar");
  SLIPWAY_ASSIGN(const ProgramEnd unpacked,
                 workshop.run({.program = tar,
                               .arguments = {"--extract", "--file", archive.string(), "--directory",
                                             folder.string(), "--exclude=dev/*", "--numeric-owner"},
                               .environment = workshop.variables,
                               .folder = {},
                               .longest = std::chrono::hours(1),
                               .wanted = {},
                               .on_line = {},
                               .keep_output = false}));
  std::error_code error;
  fs::remove(archive, error);
  if (!unpacked.good()) return fail(build_error("the image cannot be unpacked", unpacked));
  return {};
}

void ContainerEngine::remove(const std::string& container, const Workshop& workshop) const {
  // Also when the build is not wanted any more: nothing of it may stay.
  Workshop last = workshop;
  last.wanted = nullptr;
  ProgramCall removal = call({"rm", "--force", container}, last);
  removal.longest = std::chrono::minutes(2);
  removal.on_line = [](std::string_view) {};
  (void)last.run(std::move(removal));
}

}  // namespace slipway::environments
