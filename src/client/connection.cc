#include "client/connection.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "base/file.h"
#include "base/json.h"
#include "http/router.h"

namespace slipway::client {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string first_of(std::string first, std::string second) {
  return first.empty() ? std::move(second) : std::move(first);
}

std::string without_last_slashes(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

Result<Secret> read_token(const fs::path& file) {
  auto text = read_file(file, 4096);
  if (!text)
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot read the token: {}", text.error().message));
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r' || text->back() == ' '))
    text->pop_back();
  return Secret(std::move(*text));
}

std::optional<std::string> url_of_home(const fs::path& home) {
  const auto text = home.empty() ? fail(ErrorCode::kNotFound, "") : read_file(home / "server.json", 64 << 10);
  if (!text) return std::nullopt;
  const auto object = parse_json_object(*text, "server.json");
  if (!object) return std::nullopt;
  std::string url;
  JsonFields fields(*object, "server.json");
  fields.optional("url", url);
  if (!fields.finish_lenient() || url.empty()) return std::nullopt;
  return without_last_slashes(url);
}

struct Authority {
  std::string host;
  std::string port;
};

Authority authority_of(std::string_view url) {
  if (const size_t scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find('/'));
  const size_t colon = url.rfind(':');
  const bool has_port = colon != std::string_view::npos && url.find(']', colon) == std::string_view::npos;
  return {.host = std::string(url.substr(0, has_port ? colon : url.size())),
          .port = std::string(has_port ? url.substr(colon + 1) : "")};
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

// Whether both name the same local server, however they spell its address.
bool is_same_server(const std::string& url, const std::string& home_url) {
  if (url == home_url) return true;
  const Authority one = authority_of(url);
  const Authority other = authority_of(home_url);
  return is_loopback(one.host) && is_loopback(other.host) && one.port == other.port;
}

// A config.json that names a server.
struct ConfigFile {
  std::string url;
  std::string workspace;
  std::string token_file;
  fs::path folder;
};

// nullopt: no such file, or another program's.
Result<std::optional<ConfigFile>> read_config(const fs::path& path) {
  const auto text = read_file(path, 64 << 10);
  if (!text) return std::nullopt;
  const auto object = parse_json_object(*text, path.string());
  if (!object || !object->contains("url")) return std::nullopt;
  ConfigFile config;
  config.folder = path.parent_path();
  JsonFields fields(*object, path.string());
  fields.required("url", config.url);
  fields.optional("workspace", config.workspace);
  fields.optional("token_file", config.token_file);
  SLIPWAY_TRY(fields.finish());
  return config;
}

Result<std::optional<ConfigFile>> find_config(fs::path folder) {
  std::error_code error;
  if (folder.empty()) folder = fs::current_path(error);
  folder = fs::absolute(folder, error);
  while (!folder.empty()) {
    for (const char* name : {".slipway/config.json", "config.json"}) {
      SLIPWAY_ASSIGN(auto config, read_config(folder / name));
      if (config) return config;
    }
    if (folder == folder.root_path()) break;
    folder = folder.parent_path();
  }
  return std::nullopt;
}

Result<Secret> token_of_config(const ConfigFile& config) {
  if (!is_clean_relative_path(config.token_file))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the token_file of {} must be a file below that folder", config.folder.string()),
                "name the server and the token yourself: SLIPWAY_URL and SLIPWAY_TOKEN");
  return read_token(config.folder / config.token_file);
}

}  // namespace

fs::path default_home() {
  if (std::string home = environment("SLIPWAY_HOME"); !home.empty()) return home;
  const std::string user_home = environment("HOME");
  return user_home.empty() ? fs::path() : fs::path(user_home) / ".slipway";
}

Result<Connection> find_connection(const ConnectionHints& hints) {
  Connection found;
  found.home = hints.home.empty() ? default_home() : hints.home;
  found.http.ca_file = first_of(hints.ca_file, environment("SLIPWAY_CA_FILE"));
  found.http.token = hints.token;
  if (found.http.token.empty() && !hints.token_file.empty()) {
    SLIPWAY_ASSIGN(found.http.token, read_token(hints.token_file));
  }
  std::string workspace = first_of(hints.workspace, environment("SLIPWAY_WORKSPACE"));
  const auto home_url = url_of_home(found.home);

  found.http.url = without_last_slashes(first_of(hints.url, environment("SLIPWAY_URL")));
  if (!found.http.url.empty()) {
    if (found.http.token.empty()) found.http.token = Secret(environment("SLIPWAY_TOKEN"));
  } else {
    SLIPWAY_ASSIGN(const auto config, find_config(hints.working_folder));
    if (config) {
      found.http.url = without_last_slashes(config->url);
      workspace = first_of(workspace, config->workspace);
      if (found.http.token.empty() && !config->token_file.empty()) {
        SLIPWAY_ASSIGN(found.http.token, token_of_config(*config));
      }
    } else if (home_url) {
      found.http.url = *home_url;
      found.from_home = true;
      if (found.http.token.empty()) found.http.token = Secret(environment("SLIPWAY_TOKEN"));
    }
  }
  if (found.http.url.empty())
    return fail(ErrorCode::kUnreachable, fmt::format("no Slipway server runs for {}", found.home.string()),
                "start one: slipway up --detach\nor name one: --server URL, or SLIPWAY_URL");
  if (found.http.token.empty() && home_url && is_same_server(found.http.url, *home_url)) {
    // With --auth none there may be none.
    if (auto token = read_token(found.home / "token")) found.http.token = std::move(*token);
  }
  if (!workspace.empty()) {
    SLIPWAY_TRY(check_name(workspace, "workspace"));
    found.workspace = std::move(workspace);
  }
  return found;
}

bool Connection::look_again() {
  if (!from_home) return false;
  const auto url = url_of_home(home);
  if (!url || *url == http.url) return false;
  http.url = *url;
  return true;
}

std::string Connection::in_workspace(std::string_view path) const {
  return fmt::format("/api/v1/workspaces/{}{}", http::percent_encode(workspace), path);
}

Error Connection::explain(Error error) const {
  // A server that answers and whose certificate is not trusted says so itself.
  if (error.code == ErrorCode::kUnreachable && error.message.starts_with("no server answers")) {
    const size_t why = error.message.rfind(": ");
    error.message = fmt::format("no Slipway server answers at {}{}", http.url,
                                why == std::string::npos ? "" : error.message.substr(why));
    error.next =
        from_home ? "start one: slipway up --detach" : "check the address, or start one: slipway up --detach";
  } else if (error.code == ErrorCode::kUnauthenticated && http.token.empty()) {
    error.next = "give a token: --token-file FILE, or SLIPWAY_TOKEN in the environment";
  } else if (error.code == ErrorCode::kUnauthenticated && error.next.empty()) {
    error.next = "ask for a new token; on the server's machine: slipway token create NAME";
  }
  return error;
}

}  // namespace slipway::client
