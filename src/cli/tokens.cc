#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/quantities.h"
#include "cli/session.h"
#include "cli/table.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

struct TokenOptions {
  std::string name;
  std::string role = "contributor";
  std::optional<Duration> expires;
};

Result<int> create_token(Context& context, const TokenOptions& options) {
  SLIPWAY_TRY(check_name(options.name, "token"));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  json::object body{{"name", options.name}, {"role", options.role}};
  if (options.role != "admin") body["workspace"] = session.workspace();
  if (options.expires) body["expires_seconds"] = options.expires->count() / 1'000'000;
  SLIPWAY_ASSIGN(const json::object token, session.create("/api/v1/tokens", body));
  if (context.console.json()) {
    context.console.print_json(token);
    return 0;
  }
  context.console.line(text_at(token, "token"));
  context.console.hint(options.role == "admin"
                           ? "it may do everything on this server"
                           : fmt::format("{} in workspace '{}'", options.role, session.workspace()));
  context.console.hint("it is shown this once; give it to SLIPWAY_TOKEN or a file for --token-file");
  return 0;
}

Result<int> list_tokens(Context& context) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array tokens, session.list("/api/v1/tokens", {}, 0));
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(tokens)}});
    return 0;
  }
  const Timestamp now = context.clock.now();
  const auto when = [&](const json::object& token, std::string_view name) {
    const auto time = time_at(token, name);
    return time ? relative_time(*time, now) : "-";
  };
  Table table({{"ID"}, {"NAME", Align::kLeft, 8}, {"ROLE"}, {"WORKSPACE"}, {"CREATED"}, {"EXPIRES"}});
  for (const json::value& item : tokens) {
    const json::object& token = item.as_object();
    table.add({text_at(token, "id"), text_at(token, "name"), text_at(token, "role"),
               has_value(token, "workspace") ? text_at(token, "workspace") : "all", when(token, "created_at"),
               has_value(token, "expires_at") ? when(token, "expires_at") : "never"});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  return 0;
}

Result<int> delete_token(Context& context, const std::string& id) {
  SLIPWAY_TRY(check_name(id, "token", 128));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_TRY(session.remove("/api/v1/tokens/" + http::percent_encode(id)));
  if (context.console.json()) context.console.print_json(json::object{{"id", id}});
  context.console.hint(fmt::format("token {} no longer works", id));
  return 0;
}

}  // namespace

void add_token_commands(Command root, Context& context) {
  Command token =
      root.command("token", "Tokens with which people and programs speak to the server", "slipway token");
  token.action([&context] { return list_tokens(context); });
  token.command("list", "List the tokens (never the secrets)", "slipway token list").action([&context] {
    return list_tokens(context);
  });
  const auto options = std::make_shared<TokenOptions>();
  Command create = token.command("create", "Make a token; it is printed once",
                                 "slipway token create ci --role contributor --expires 90d");
  create.positional("NAME", options->name, "whose it is, for the list");
  create.choice("--role", options->role, {"reader", "contributor", "owner", "admin"},
                "what it may do in the workspace; admin: everything, everywhere (contributor)");
  create.option("--expires", options->expires, "TIME", "how long it works (for ever)");
  create.action([options, &context] { return create_token(context, *options); });

  const auto id = std::make_shared<std::string>();
  Command remove = token.command("delete", "Revoke a token", "slipway token delete 4k2m9x7q");
  remove.positional("ID", *id, "the token's id", Completes::kToken);
  remove.action([id, &context] { return delete_token(context, *id); });
}

}  // namespace slipway::cli
