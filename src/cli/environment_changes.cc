#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "cli/answer.h"
#include "cli/environments.h"
#include "cli/quantities.h"
#include "environments/azure_form.h"
#include "environments/definition.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

struct CreateOptions {
  std::string name;
  std::string conda, requirements, pyproject, dockerfile, image, python;
  std::vector<std::string> pip;
  std::map<std::string, std::string> variables, tags;
  std::string interpreter;
  bool user_managed = false;
  std::string shm_size;
  std::string description;
};

Result<EnvironmentDefinition> definition_of(const CreateOptions& options) {
  EnvironmentDefinition definition;
  definition.python = options.python;
  definition.variables = options.variables;
  if (!options.image.empty() && !options.dockerfile.empty())
    return fail(ErrorCode::kInvalidArgument, "an environment has an image or a Dockerfile, not both",
                "leave --image or --dockerfile out");
  for (const std::string* file :
       {&options.conda, &options.requirements, &options.pyproject, &options.dockerfile})
    if (!file->empty()) SLIPWAY_TRY(add_file_to_definition(*file, definition));
  for (const std::string& line : options.pip) definition.pip.push_back(line);
  definition.user_managed = options.user_managed || !options.interpreter.empty();
  if (!options.interpreter.empty()) definition.interpreter = options.interpreter;
  const bool has_packages =
      !definition.pip.empty() || !definition.conda.empty() || !definition.python.empty();
  if (definition.user_managed && has_packages)
    return fail(ErrorCode::kInvalidArgument, "a user-managed environment takes its interpreter as it is",
                "leave the packages and --python out, or --user-managed and --interpreter");
  if (!options.image.empty()) {
    definition.container.enabled = true;
    definition.container.image = options.image;
  }
  if (!options.shm_size.empty()) definition.container.shm_size = options.shm_size;
  if (!definition.user_managed && !has_packages && !definition.container.enabled)
    return fail(ErrorCode::kInvalidArgument, "nothing says what the environment is made of",
                "for example: slipway env create tf --conda env.yml, or --python 3.11 --pip numpy");
  return environments::checked_definition(std::move(definition));
}

Result<int> say_registered(Context& context, Session& session, const json::object& body) {
  SLIPWAY_ASSIGN(const json::object environment, session.create(session.in_workspace("/environments"), body));
  print_environment(context, environment);
  context.console.hint(
      fmt::format("use it: slipway submit --env {} -- python train.py", text_at(environment, "reference")));
  return 0;
}

Result<int> create_environment(Context& context, const CreateOptions& options) {
  SLIPWAY_TRY(environments::check_new_name(options.name));
  SLIPWAY_ASSIGN(const EnvironmentDefinition definition, definition_of(options));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  return say_registered(context, session,
                        {{"name", options.name},
                         {"description", options.description},
                         {"tags", to_json(options.tags)},
                         {"definition", to_json(definition)}});
}

Result<int> clone_environment(Context& context, const std::string& from, const std::string& to) {
  SLIPWAY_TRY(environments::check_new_name(to));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object source, session.get(environment_path(session, from)));
  json::object body{{"name", to},
                    {"description", text_at(source, "description")},
                    {"tags", object_at(source, "tags")},
                    {"definition", object_at(source, "definition")}};
  return say_registered(context, session, body);
}

Result<int> save_environment(Context& context, const std::string& name, const fs::path& folder) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object source, session.get(environment_path(session, name)));
  environments::Environment environment{.name = text_at(source, "name"),
                                        .version = static_cast<int>(integer_at(source, "version")),
                                        .definition = {},
                                        .description = "",
                                        .tags = {},
                                        .created_at = {},
                                        .created_by = ""};
  SLIPWAY_ASSIGN(environment.definition, environment_definition_from_json(object_at(source, "definition")));
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' cannot be made a folder", printable(folder.string())),
                "name a folder that can be written");
  json::array written;
  for (const auto& [file, text] : environments::to_azure_files(environment)) {
    SLIPWAY_TRY(replace_file(folder / file, text, 0644));
    written.push_back(json::string((folder / file).string()));
    if (!context.console.json()) context.console.line((folder / file).string());
  }
  if (context.console.json())
    context.console.print_json(json::object{{"reference", text_at(source, "reference")}, {"files", written}});
  return 0;
}

Result<int> load_environment(Context& context, const fs::path& folder, const std::string& name) {
  environments::FileTexts files;
  for (const std::string_view file :
       {environments::kAzureFile, environments::kAzureCondaFile, environments::kAzureDockerfile}) {
    Result<std::string> text = read_file(folder / file, 1 << 20);
    if (text) {
      files.emplace(file, std::move(*text));
    } else if (text.error().code != ErrorCode::kNotFound) {
      return fail(std::move(text).error());
    } else if (file == environments::kAzureFile) {
      return fail(ErrorCode::kNotFound,
                  fmt::format("there is no {} in '{}'", file, printable(folder.string())),
                  "name a folder that `slipway env save` or Azure's save_to_directory has written");
    }
  }
  SLIPWAY_ASSIGN(environments::Environment environment, environments::from_azure_files(files));
  if (!name.empty()) environment.name = name;
  SLIPWAY_TRY(environments::check_new_name(environment.name));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  return say_registered(context, session,
                        {{"name", environment.name}, {"definition", to_json(environment.definition)}});
}

Result<int> delete_environment(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_TRY(session.remove(environment_path(session, name)));
  if (context.console.json()) context.console.print_json(json::object{{"reference", name}});
  context.console.hint(
      fmt::format("environment '{}' deleted; runs that had it still know it", printable(name, 128)));
  return 0;
}

void add_create(Command env, Context& context) {
  const auto options = std::make_shared<CreateOptions>();
  Command create =
      env.command("create", "Describe an environment; the same description again is the same version",
                  "slipway env create tf --conda env.yml");
  create.example("slipway env create sk --python 3.11 --pip scikit-learn --pip 'pandas>=2'");
  create.example("slipway env create tools --image docker.io/library/debian:12");
  create.positional("NAME", options->name, "its name; a new description makes the next version",
                    Completes::kEnvironment);
  create.option("--conda", options->conda, "FILE", "a conda file (env.yml)", Completes::kFile);
  create.option("--requirements", options->requirements, "FILE", "a requirements file (requirements.txt)",
                Completes::kFile);
  create.option("--pyproject", options->pyproject, "FILE", "the dependencies of a pyproject.toml",
                Completes::kFile);
  create.option("--image", options->image, "NAME", "run inside this image");
  create.option("--dockerfile", options->dockerfile, "FILE", "run inside the image this builds",
                Completes::kFile);
  create.option("--python", options->python, "VERSION", "3.11, 3.8.10 or >=3.9,<3.12");
  create.option("--pip", options->pip, "PACKAGE", "a requirement; may be repeated");
  create.option("--var", options->variables, "NAME=VALUE", "an environment variable; may be repeated");
  create.flag("--user-managed", options->user_managed, "use the machine's own interpreter, install nothing");
  create.option("--interpreter", options->interpreter, "PATH", "which one (python); implies --user-managed");
  create.option("--shm-size", options->shm_size, "SIZE", "shared memory of a container (2g)");
  create.option("--tag,-t", options->tags, "NAME=VALUE", "a tag; may be repeated");
  create.option("--description", options->description, "TEXT", "what it is for");
  create.action([options, &context] { return create_environment(context, *options); });
}

}  // namespace

void add_environment_changes(Command env, Context& context) {
  add_create(env, context);
  const auto names = std::make_shared<std::pair<std::string, std::string>>();
  Command clone = env.command("clone", "Copy an environment under a name of your own",
                              "slipway env clone curated/tensorflow mytf");
  clone.positional("NAME", names->first, "NAME, NAME:VERSION or curated/NAME", Completes::kEnvironment);
  clone.positional("NEW", names->second, "the copy's name");
  clone.action([names, &context] { return clone_environment(context, names->first, names->second); });

  const auto saved = std::make_shared<std::pair<std::string, std::string>>();
  Command save =
      env.command("save", "Write an environment to a folder, in the form of Azure's save_to_directory",
                  "slipway env save tf ./tf-environment");
  save.positional("NAME", saved->first, "NAME, NAME:VERSION or curated/NAME", Completes::kEnvironment);
  save.positional("DIR", saved->second, "the folder; made when it is not there", Completes::kFolder);
  save.action([saved, &context] { return save_environment(context, saved->first, saved->second); });

  const auto loaded = std::make_shared<std::pair<std::string, std::string>>();
  Command load =
      env.command("load", "Register an environment from such a folder", "slipway env load ./tf-environment");
  load.positional("DIR", loaded->first, "the folder", Completes::kFolder);
  load.option("--name", loaded->second, "NAME", "under this name (the one in the folder)");
  load.action([loaded, &context] { return load_environment(context, loaded->first, loaded->second); });

  const auto deleted = std::make_shared<std::string>();
  Command remove =
      env.command("delete", "Delete a version of an environment, or all of them", "slipway env delete tf:1");
  remove.positional("NAME", *deleted, "NAME for all versions, NAME:VERSION for one", Completes::kEnvironment);
  remove.action([deleted, &context] { return delete_environment(context, *deleted); });
}

}  // namespace slipway::cli
