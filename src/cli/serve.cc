#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "cli/context.h"
#include "cli/listen.h"
#include "serving/model_server.h"

namespace slipway::cli {
namespace {

struct ServeOptions {
  UpOptions listen;
  std::string path;
  std::string name;
  std::string model_version;
  std::string key_file;
  std::string entry;
  std::string python;
  std::string runtime_folder;
  int threads = 1;
  int workers = 1;
  ByteCount worker_memory;
  int batch = 64;
  int queue = 8192;
  Duration timeout = std::chrono::seconds(60);
  Duration grace = std::chrono::seconds(30);
  ByteCount max_body{64 << 20};
};

// One key a line; blank lines and what follows a '#' at the beginning of a line do not count.
Result<std::vector<Secret>> read_keys(const std::string& file) {
  std::vector<Secret> keys;
  if (file.empty()) return keys;
  SLIPWAY_ASSIGN(const std::string text, read_file(file, 1 << 20));
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with('#')) keys.emplace_back(std::string(line));
  }
  if (keys.empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("there is no key in {}", file),
                "write one on a line of its own");
  return keys;
}

// `range` of an option of which less than `least` makes no sense.
Status check_least(std::string_view option, int64_t value, int64_t least) {
  if (value >= least) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} {} is too small", option, value),
              fmt::format("give {} or more", least));
}

Result<serving::ServeSettings> settings_of(const ServeOptions& options) {
  serving::ServeSettings settings;
  SLIPWAY_ASSIGN(settings.keys, read_keys(options.key_file));
  UpOptions listen = options.listen;
  listen.auth = settings.keys.empty() ? "none" : "token";
  auto address = server_settings(listen, {});
  if (!address && listen.auth == "none" && address.error().message.starts_with("--auth"))
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} can be reached from other machines, and nobody is asked for a key", listen.listen),
        "give --key-file, or listen on 127.0.0.1");
  if (!address) return fail(std::move(address).error());
  SLIPWAY_TRY(check_least("--threads", options.threads, 1));
  SLIPWAY_TRY(check_least("--workers", options.workers, 1));
  SLIPWAY_TRY(check_least("--batch", options.batch, 1));
  SLIPWAY_TRY(check_least("--queue", options.queue, 1));
  settings.address = address->address;
  settings.port = address->port;
  if (!address->tls_certificate.empty())
    settings.tls = http::TlsFiles{.certificate = address->tls_certificate, .key = address->tls_key};
  settings.load.path = options.path;
  settings.load.name = options.name;
  settings.load.version = options.model_version;
  settings.load.search = {.runtime_folder = options.runtime_folder, .python = options.python};
  settings.load.entry = options.entry;
  settings.load.threads = options.threads;
  settings.load.workers = static_cast<unsigned>(options.workers);
  settings.load.worker_memory = options.worker_memory.bytes;
  settings.batch.batch_rows = options.batch;
  settings.batch.queued_rows = options.queue;
  settings.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout);
  settings.grace = std::chrono::duration_cast<std::chrono::milliseconds>(options.grace);
  settings.body_limit = options.max_body.bytes;
  return settings;
}

void print_banner(Context& context, const serving::LoadedModel& loaded, const std::string& url) {
  Console& console = context.console;
  if (console.json()) {
    console.print_json({{"url", url},
                        {"model", loaded.name},
                        {"version", loaded.version},
                        {"runtime", loaded.model->runtime()},
                        {"load_ms", loaded.load_milliseconds}});
  } else {
    console.line(fmt::format("Serving {} version {} ({}) at {}", loaded.name, loaded.version,
                             loaded.model->runtime(), paint(url, Colour::kBold, console.colour_out())));
    console.line(fmt::format("  TensorFlow Serving:  POST /v1/models/{}:predict", loaded.name));
    console.line(fmt::format("  Open Inference v2:   POST /v2/models/{}/infer", loaded.name));
    console.line("  Azure ML:            POST /score");
    console.line("  MLflow:              POST /invocations");
    console.line("  stop:                Ctrl-C");
  }
  console.flush();
}

Result<int> serve(Context& context, const ServeOptions& options) {
  SLIPWAY_ASSIGN(serving::ServeSettings settings, settings_of(options));
  settings.on_ready = [&context](const serving::LoadedModel& loaded, const std::string& url) {
    print_banner(context, loaded, url);
  };
  SLIPWAY_TRY(context.roles.run_model_server(settings));
  return 0;
}

}  // namespace

void add_serve_command(Command root, Context& context) {
  const auto options = std::make_shared<ServeOptions>();
  options->listen.listen = "127.0.0.1:8501";
  Command command = root.command("serve", "Serve a model from its file or folder, with nothing else running",
                                 "slipway serve model.onnx");
  command.example("slipway serve ./model --entry score.py --python env/bin/python");
  command.example("slipway serve ./digits --name digits --listen 127.0.0.1:8501 --key-file keys");
  command.positional("MODEL", options->path, "the model's file, or a folder that holds one",
                     Completes::kFile);
  command.option("--name", options->name, "NAME", "its name in addresses (that of the file or folder)");
  command.option("--model-version", options->model_version, "N", "its version (1, or the folder's number)");
  command.option("--listen", options->listen.listen, "ADDR",
                 "address and port (127.0.0.1:8501); other machines need TLS and keys");
  command.option("--tls-cert", options->listen.tls_certificate, "FILE", "certificate with its chain, PEM",
                 Completes::kFile);
  command.option("--tls-key", options->listen.tls_key, "FILE", "its key, PEM", Completes::kFile);
  command.option("--key-file", options->key_file, "FILE",
                 "ask clients for one of the keys in this file, a line each (nobody is asked)",
                 Completes::kFile);
  command.option("--entry", options->entry, "FILE", "a script with init() and run() that serves the model",
                 Completes::kFile);
  command.option("--python", options->python, "FILE",
                 "the interpreter whose packages the model needs (python3)", Completes::kFile);
  command.option("--runtime-folder", options->runtime_folder, "DIR", "where the framework's libraries are",
                 Completes::kFolder);
  command.option("--threads", options->threads, "N", "threads for one run of the model (1)");
  command.option("--workers", options->workers, "N", "processes, for models that run in their own (1)");
  command.option("--worker-memory", options->worker_memory, "SIZE", "of one such process (no limit)");
  command.option("--batch", options->batch, "ROWS", "rows of several requests to run together (64)");
  command.option("--queue", options->queue, "ROWS", "rows that may wait; beyond it 429 (8192)");
  command.option("--timeout", options->timeout, "TIME", "of one request; beyond it 504 (60s)");
  command.option("--grace", options->grace, "TIME", "for requests in progress when it is told to stop (30s)");
  command.option("--max-body", options->max_body, "SIZE", "of one request; beyond it 413 (64M)");
  command.action([options, &context] { return serve(context, *options); });
}

}  // namespace slipway::cli
