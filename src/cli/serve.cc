#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/file.h"
#include "cli/context.h"
#include "cli/serve_options.h"
#include "injob/log_sender.h"
#include "serving/trial.h"
#include "serving/trial_room.h"

namespace slipway::cli {
namespace {

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
  SLIPWAY_ASSIGN(serving::ServeSettings settings, serve_settings(options));
  settings.on_ready = [&](const serving::LoadedModel& loaded, const std::string& url) -> Status {
    print_banner(context, loaded, url);
    if (!options.report_endpoint) return {};
    return injob::send_property("endpoint", url.substr(url.find("://") + 3));
  };
  SLIPWAY_TRY(context.roles.run_model_server(settings));
  return 0;
}

// One line for programs, whatever comes of it; the error as well, for people.
Result<int> try_out(Context& context, const ServeOptions& options) {
  serving::TrialOptions trial;
  SLIPWAY_ASSIGN(trial.load, load_options(options));
  if (!options.sample.empty()) {
    SLIPWAY_ASSIGN(trial.sample, read_file(options.sample, options.max_body.bytes));
  }
  // An entry script may have to fetch something; a model has all it needs with it.
  std::optional<serving::TrialRoom> room;
  if (options.entry.empty()) {
    (void)serving::leave_network();
    SLIPWAY_ASSIGN(serving::TrialRoom made, serving::TrialRoom::enter(trial.load));
    room.emplace(std::move(made));
  }
  auto tried = serving::try_model(trial);
  json::object line;
  if (tried) {
    line = serving::to_json(*tried);
  } else {
    line = {{"serves", false}, {"reason", tried.error().message}};
    if (!tried.error().next.empty()) line["next"] = tried.error().next;
  }
  context.console.line(json::serialize(line));
  context.console.flush();
  if (!tried) return fail(std::move(tried).error());
  return 0;
}

void add_serve_options(Command& command, ServeOptions& options) {
  command.positional("MODEL", options.path,
                     "the model's file, or a folder that holds one (that of the run it is called in)",
                     Completes::kFile, false);
  command.option("--name", options.name, "NAME", "its name in addresses (that of the file or folder)");
  command.option("--model-version", options.model_version, "N", "its version (1, or the folder's number)");
  command.option("--listen", options.listen.listen, "ADDR",
                 "address and port (127.0.0.1:8501); other machines need TLS and keys");
  command.option("--tls-cert", options.listen.tls_certificate, "FILE", "certificate with its chain, PEM",
                 Completes::kFile);
  command.option("--tls-key", options.listen.tls_key, "FILE", "its key, PEM", Completes::kFile);
  command.option("--key-file", options.key_file, "FILE",
                 "ask clients for one of the keys in this file, a line each (nobody is asked)",
                 Completes::kFile);
  command.option("--key-env", options.key_variable, "NAME",
                 "the same with the keys in a variable, which is emptied");
  command.option("--entry", options.entry, "FILE", "a script with init() and run() that serves the model",
                 Completes::kFile);
  command.option("--python", options.python, "FILE",
                 "the interpreter whose packages the model needs (python3)", Completes::kFile);
  command.option("--runtime", options.runtime, "FILE",
                 "a shared library that serves the model (slipway_runtime.h)", Completes::kFile);
  command.option("--runtime-folder", options.runtime_folder, "DIR", "where the framework's libraries are",
                 Completes::kFolder);
  command.option("--threads", options.threads, "N", "threads for one run of the model (1)");
  command.option("--workers", options.workers, "N", "processes, for models that run in their own (1)");
  command.option("--worker-memory", options.worker_memory, "SIZE", "of one such process (no limit)");
  command.option("--batch", options.batch, "ROWS", "rows of several requests to run together (64)");
  command.option("--queue", options.queue, "ROWS", "rows that may wait; beyond it 429 (8192)");
  command.option("--timeout", options.timeout, "TIME", "of one request; beyond it 504 (60s)");
  command.option("--grace", options.grace, "TIME", "for requests in progress when it is told to stop (30s)");
  command.option("--max-body", options.max_body, "SIZE", "of one request; beyond it 413 (64M)");
  command.flag("--trial", options.trial,
               "load it, ask it once, say in a line of JSON whether it serves, and end");
  command.option("--optimize", options.optimise, "KIND",
                 "'onnx': convert a TensorFlow or scikit-learn model, and use that if its answers agree");
  command.option("--sample", options.sample, "FILE",
                 "a body of /score: what --trial asks (zeros), and --optimize compares on (random numbers)",
                 Completes::kFile);
  command.flag("--report-endpoint", options.report_endpoint,
               "in a run: listen on the node's address, and set the run's property 'endpoint' when ready");
}

}  // namespace

void add_serve_command(Command root, Context& context) {
  const auto options = std::make_shared<ServeOptions>();
  Command command = root.command("serve", "Serve a model from its file or folder, with nothing else running",
                                 "slipway serve model.onnx");
  command.example("slipway serve ./model --entry score.py --python env/bin/python");
  command.example("slipway serve ./digits --name digits --listen 127.0.0.1:8501 --key-file keys");
  command.example("slipway serve ./digits --trial");
  add_serve_options(command, *options);
  command.action([options, &context] {
    options->converted = context.home() / "converted";
    return options->trial ? try_out(context, *options) : serve(context, *options);
  });
}

}  // namespace slipway::cli
