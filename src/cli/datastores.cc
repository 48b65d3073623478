#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/file.h"
#include "cli/answer.h"
#include "cli/datastores.h"
#include "cli/quantities.h"
#include "cli/session.h"
#include "cli/table.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

constexpr size_t kLargestCredentials = 16 << 10;

struct NewDatastore {
  std::string name;
  std::string path;
  std::string url;
  std::string description;
  std::string credentials_file;
  std::string credentials_env;
};

// The words themselves never stand on a command line, where everybody on the machine can read them.
Result<std::string> read_credentials(const NewDatastore& options) {
  if (!options.credentials_file.empty() && !options.credentials_env.empty())
    return fail(ErrorCode::kInvalidArgument, "credentials come from a file or a variable, not from both");
  if (!options.credentials_file.empty()) return read_file(options.credentials_file, kLargestCredentials);
  if (options.credentials_env.empty()) return "";
  const char* value = std::getenv(options.credentials_env.c_str());
  if (value == nullptr || *value == '\0')
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the variable {} is not set", printable(options.credentials_env)),
                "set it to 'bearer TOKEN', 'basic USER:PASSWORD' or 'header NAME: VALUE'");
  return value;
}

std::string where_text(const json::object& store) {
  const std::string location = text_at(store, "location");
  return location.empty() ? "in the workspace" : location;
}

void print_datastore(Context& context, const json::object& store) {
  if (context.console.json()) {
    context.console.print_json(store);
    return;
  }
  Facts facts;
  facts.add("datastore", text_at(store, "name"), Colour::kBold);
  facts.add("kind", text_at(store, "kind"));
  facts.add("lies", where_text(store));
  if (flag_at(store, "default")) facts.add("default", "yes");
  facts.add("written", flag_at(store, "read_only") ? "no: read only" : "yes");
  if (flag_at(store, "has_credentials")) facts.add("credentials", "stored; they are not shown");
  if (!text_at(store, "description").empty()) facts.add("description", text_at(store, "description"));
  if (const auto created = time_at(store, "created_at"))
    facts.add("added", relative_time(*created, context.clock.now()));
  context.console.out(facts.render(context.console.colour_out()));
}

Result<int> add_datastore(Context& context, const NewDatastore& options) {
  SLIPWAY_TRY(check_name(options.name, "datastore"));
  if (options.path.empty() == options.url.empty())
    return fail(
        ErrorCode::kInvalidArgument, "a datastore lies in a folder or at an address: one of the two",
        "slipway datastore add images --path /srv/images\nslipway datastore add web --url https://host/data");
  SLIPWAY_ASSIGN(const std::string credentials, read_credentials(options));
  json::object body{{"name", options.name}, {"description", options.description}};
  if (!options.path.empty())
    body["path"] = std::filesystem::absolute(options.path).lexically_normal().string();
  if (!options.url.empty()) body["url"] = options.url;
  if (!credentials.empty()) body["credentials"] = credentials;
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object store, session.create(session.in_workspace("/datastores"), body));
  print_datastore(context, store);
  context.console.hint(fmt::format("use it: slipway data create NAME {}:{}", options.name,
                                   options.url.empty() ? "FOLDER" : "FILE"));
  return 0;
}

Result<int> list_datastores(Context& context) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array stores, session.list(session.in_workspace("/datastores"), {}, 0));
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(stores)}});
    return 0;
  }
  Table table(
      {{"DATASTORE"}, {"KIND"}, {"LIES", Align::kLeft, 20}, {"DEFAULT"}, {"DESCRIPTION", Align::kLeft, 12}});
  for (const json::value& item : stores) {
    const json::object& store = item.as_object();
    table.add({text_at(store, "name"), text_at(store, "kind"), where_text(store),
               flag_at(store, "default") ? "default" : "", text_at(store, "description")});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  return 0;
}

Result<int> show_datastore(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object store, session.get(datastore_path(session, name)));
  print_datastore(context, store);
  return 0;
}

Result<int> remove_datastore(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_TRY(session.remove(datastore_path(session, name)));
  if (context.console.json()) context.console.print_json(json::object{{"name", name}});
  context.console.hint(fmt::format("datastore '{}' removed; its files stay where they are", name));
  return 0;
}

Result<int> set_default(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object store,
                 session.change(http::Method::kPost, datastore_path(session, name) + "/default", {}));
  print_datastore(context, store);
  return 0;
}

}  // namespace

std::string datastore_path(const Session& session, const std::string& name) {
  return session.in_workspace("/datastores/" + http::percent_encode(name));
}

void add_datastore_commands(Command root, Context& context) {
  Command datastore = root.command(
      "datastore", "Places where data lies: folders, web servers, the workspace's own", "slipway datastore");
  datastore.action([&context] { return list_datastores(context); });

  const auto made = std::make_shared<NewDatastore>();
  Command add = datastore.command("add", "Add a folder or a web server",
                                  "slipway datastore add images --path /srv/images");
  add.example("slipway datastore add web --url https://data.example/sets --credentials-file token.txt");
  add.positional("NAME", made->name, "its name");
  add.option("--path", made->path, "DIR", "a folder on the server's machine", Completes::kFolder);
  add.option("--url", made->url, "URL", "an http or https address that files lie below");
  add.option("--credentials-file", made->credentials_file, "FILE",
             "one line: 'bearer TOKEN', 'basic USER:PASSWORD' or 'header NAME: VALUE'", Completes::kFile);
  add.option("--credentials-env", made->credentials_env, "VAR", "the same, from an environment variable");
  add.option("--description", made->description, "TEXT", "what it is for");
  add.action([made, &context] { return add_datastore(context, *made); });

  datastore.command("list", "List the datastores", "slipway datastore list").action([&context] {
    return list_datastores(context);
  });
  const auto add_named = [&](const char* name, const char* about, const char* example,
                             Result<int> (*act)(Context&, const std::string&)) {
    const auto store = std::make_shared<std::string>();
    Command command = datastore.command(name, about, example);
    command.positional("NAME", *store, "the datastore", Completes::kDatastore);
    command.action([store, act, &context] { return act(context, *store); });
  };
  add_named("show", "Show a datastore", "slipway datastore show images", show_datastore);
  add_named("remove", "Forget a datastore; its files stay", "slipway datastore remove images",
            remove_datastore);
  add_named("set-default", "Use it where no datastore is named", "slipway datastore set-default images",
            set_default);
  add_datastore_files(datastore, context);
}

}  // namespace slipway::cli
