#include "cli/serve_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/file.h"

namespace slipway::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? "" : value;
}

// One key a line; blank lines and what follows a '#' at the beginning of a line do not count.
Result<std::vector<Secret>> keys_in(std::string_view text, const std::string& where) {
  std::vector<Secret> keys;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with('#')) keys.emplace_back(std::string(line));
  }
  if (keys.empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("there is no key in {}", where),
                "write one on a line of its own");
  return keys;
}

Result<std::vector<Secret>> read_keys(const ServeOptions& options) {
  std::vector<Secret> keys;
  if (!options.key_file.empty()) {
    SLIPWAY_ASSIGN(const std::string text, read_file(options.key_file, 1 << 20));
    SLIPWAY_ASSIGN(keys, keys_in(text, options.key_file));
  }
  if (options.key_variable.empty()) return keys;
  char* value = std::getenv(options.key_variable.c_str());  // NOLINT(concurrency-mt-unsafe)
  auto more = keys_in(value == nullptr ? "" : value, "the variable " + options.key_variable);
  if (value != nullptr) {
    // Emptied in place too: /proc shows a process's first environment to all of the same user.
    ::explicit_bzero(value, std::strlen(value));
    ::unsetenv(options.key_variable.c_str());  // NOLINT(concurrency-mt-unsafe)
  }
  if (!more) return fail(std::move(more).error());
  for (Secret& key : *more) keys.push_back(std::move(key));
  return keys;
}

// Of an option of which less than `least` makes no sense.
Status check_least(std::string_view option, int64_t value, int64_t least) {
  if (value >= least) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} {} is too small", option, value),
              fmt::format("give {} or more", least));
}

// The address under which the other nodes of the run reach this one; empty outside a run.
std::string own_address() {
  const std::string nodes = environment("SLIPWAY_NODES");
  const std::string rank_text = environment("SLIPWAY_NODE_RANK");
  size_t rank = 0;
  std::from_chars(rank_text.data(), rank_text.data() + rank_text.size(), rank);
  std::string_view rest = nodes;
  for (; rank > 0 && rest.contains(','); --rank) rest.remove_prefix(rest.find(',') + 1);
  const std::string_view own = rest.substr(0, rest.find(','));
  return own.contains(':') ? fmt::format("[{}]:0", own) : own.empty() ? "" : fmt::format("{}:0", own);
}

// A replica listens where the server of its cluster reaches it, and its key is asked for by all but the front
// door: the network between the machines of an installation is taken to be private, as for its jobs.
Result<ListenAddress> replica_address(const std::string& listen, bool keys) {
  const std::string own = own_address();
  SLIPWAY_ASSIGN(ListenAddress address, parse_listen(!listen.empty() ? listen
                                                     : own.empty()   ? "127.0.0.1:0"
                                                                     : own));
  if (!address.loopback && !keys)
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} can be reached from other machines, and nobody is asked for a key", address.host),
        "give --key-env or --key-file");
  return address;
}

Status set_address(const ServeOptions& options, serving::ServeSettings& settings) {
  if (options.report_endpoint && options.listen.tls_certificate.empty()) {
    SLIPWAY_ASSIGN(const ListenAddress address,
                   replica_address(options.listen.listen, !settings.keys.empty()));
    settings.address = address.host;
    settings.port = address.port;
    return {};
  }
  UpOptions listen = options.listen;
  if (listen.listen.empty()) listen.listen = "127.0.0.1:8501";
  listen.auth = settings.keys.empty() ? "none" : "token";
  auto address = server_settings(listen, {});
  if (!address && listen.auth == "none" && address.error().message.starts_with("--auth"))
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} can be reached from other machines, and nobody is asked for a key", listen.listen),
        "give --key-file, or listen on 127.0.0.1");
  if (!address) return fail(std::move(address).error());
  settings.address = address->address;
  settings.port = address->port;
  if (!address->tls_certificate.empty())
    settings.tls = http::TlsFiles{.certificate = address->tls_certificate, .key = address->tls_key};
  return {};
}

}  // namespace

Result<serving::LoadOptions> load_options(const ServeOptions& options) {
  SLIPWAY_TRY(check_least("--threads", options.threads, 1));
  SLIPWAY_TRY(check_least("--workers", options.workers, 1));
  if (!options.runtime.empty() && !options.entry.empty())
    return fail(ErrorCode::kInvalidArgument, "--runtime and --entry are two ways to serve a model",
                "give one of them");
  serving::LoadOptions load;
  load.path = options.path;
  for (const char* variable : {"SLIPWAY_MODEL_DIR", "AZUREML_MODEL_DIR"})
    if (load.path.empty()) load.path = environment(variable);
  if (load.path.empty() && !options.entry.empty())
    load.path = std::filesystem::absolute(options.entry).parent_path().string();
  if (load.path.empty())
    return fail(ErrorCode::kInvalidArgument, "there is no model to serve",
                "name its file or folder: slipway serve model.onnx");
  load.name = options.name;
  load.version = options.model_version;
  load.search = {.runtime_folder = options.runtime_folder, .python = options.python};
  if (!options.optimise.empty() && options.optimise != "onnx")
    return fail(ErrorCode::kInvalidArgument, fmt::format("there is no --optimize {}", options.optimise),
                "give --optimize onnx");
  load.onnx = !options.optimise.empty();
  if (load.onnx && !options.sample.empty()) {
    SLIPWAY_ASSIGN(load.sample, read_file(options.sample, options.max_body.bytes));
  }
  load.runtime = options.runtime;
  load.entry = options.entry;
  load.converted = options.converted;
  load.threads = options.threads;
  load.workers = static_cast<unsigned>(options.workers);
  load.worker_memory = options.worker_memory.bytes;
  return load;
}

Result<serving::ServeSettings> serve_settings(const ServeOptions& options) {
  serving::ServeSettings settings;
  SLIPWAY_ASSIGN(settings.keys, read_keys(options));
  SLIPWAY_TRY(set_address(options, settings));
  SLIPWAY_ASSIGN(settings.load, load_options(options));
  SLIPWAY_TRY(check_least("--batch", options.batch, 1));
  SLIPWAY_TRY(check_least("--queue", options.queue, 1));
  settings.batch.batch_rows = options.batch;
  settings.batch.queued_rows = options.queue;
  settings.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout);
  settings.grace = std::chrono::duration_cast<std::chrono::milliseconds>(options.grace);
  settings.body_limit = options.max_body.bytes;
  return settings;
}

}  // namespace slipway::cli
