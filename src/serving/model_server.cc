#include "serving/model_server.h"

#include <fmt/format.h>

#include "base/log.h"
#include "serving/key_authoriser.h"
#include "serving/protocols/routes.h"
#include "serving/served_model.h"

namespace slipway::serving {
namespace {

std::string url_of(const ServeSettings& settings, uint16_t port) {
  const bool six = settings.address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", settings.tls ? "https" : "http", six ? "[" : "", settings.address,
                     six ? "]" : "", port);
}

http::ServerOptions server_options(const ServeSettings& settings) {
  http::ServerOptions options;
  options.address = settings.address;
  options.port = settings.port;
  options.tls = settings.tls;
  options.limits.connections = settings.connections;
  options.io_threads = settings.io_threads;
  options.workers = 2;  // for what is no inference
  options.grace_to_stop = settings.grace;
  options.http2 = true;  // gRPC
  return options;
}

}  // namespace

Status serve(const ServeSettings& settings) {
  SLIPWAY_ASSIGN(LoadedModel loaded, load_model(settings.load));
  Statistics statistics;
  Batcher batcher(*loaded.model, settings.batch, settings.io_threads, statistics);
  batcher.expect(loaded.first_run);
  ServedModel served{.name = loaded.name,
                     .version = loaded.version,
                     .model = *loaded.model,
                     .batcher = batcher,
                     .statistics = statistics,
                     .timeout = settings.timeout,
                     .body_limit = settings.body_limit};
  http::Router router;
  add_routes(router, served, settings.body_limit);
  KeyAuthoriser authoriser(settings.keys);
  Notifier notifier;
  http::Server server(server_options(settings), router, authoriser, notifier);
  SLIPWAY_TRY(server.start());
  const std::string url = url_of(settings, server.port());
  log_info("serving.ready", {{"model", loaded.name},
                             {"version", loaded.version},
                             {"runtime", loaded.model->runtime()},
                             {"url", url},
                             {"load_ms", loaded.load_milliseconds}});
  Status ready;
  if (settings.on_ready) ready = settings.on_ready(loaded, url);
  if (ready) settings.wait_for_stop();
  served.ready = false;
  log_info("serving.draining", {{"in_flight", statistics.in_flight.load()}});
  server.stop();
  batcher.stop();
  return ready;
}

}  // namespace slipway::serving
