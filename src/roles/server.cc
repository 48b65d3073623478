#include "roles/server.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "access/authoriser.h"
#include "access/token.h"
#include "base/file.h"
#include "base/log.h"
#include "blobs/blob_store.h"
#include "cli/quantities.h"
#include "compute/cluster_store.h"
#include "compute/engines/local/local_engine.h"
#include "http/server.h"
#include "node/agent_folder.h"
#include "node/own_cgroup.h"
#include "roles/file_limit.h"
#include "roles/slurm_options.h"
#include "roles/stop_signal.h"
#include "routes/services.h"
#include "runs/run_table.h"
#include "runs/workspace.h"
#include "services/controller.h"
#include "services/deployments.h"

namespace slipway::roles {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kDefaultLogQuota = 10ULL << 30;
constexpr Duration kAgentStopTime = std::chrono::seconds(20);
constexpr Duration kCancelTime = std::chrono::seconds(60);
constexpr Duration kAllocationsTime = std::chrono::seconds(10);

Result<FileLock> take_home(const fs::path& home) {
  SLIPWAY_TRY(make_folders(home));
  SLIPWAY_ASSIGN(auto lock, FileLock::try_take(home / "server.lock"));
  if (lock) return std::move(*lock);
  std::string other = "another server";
  if (const auto text = read_file(home / "server.json"))
    if (const auto document = parse_json_object(*text, "server.json")) {
      std::string url;
      int pid = 0;
      JsonFields fields(*document, "server.json");
      fields.optional("url", url);
      fields.optional("pid", pid);
      other = fmt::format("the server at {} (pid {})", url, pid);
    }
  return fail(ErrorCode::kConflict, fmt::format("{} uses the home {} already", other, home.string()),
              "stop it with `slipway down`, or choose another --home");
}

Status ensure_default_workspace(store::Database& database, const Clock& clock) {
  return database.write([&](store::Writer& writer) -> Status {
    const WorkspaceName name{std::string(runs::kDefaultWorkspace)};
    if (runs::load_workspace(writer, name)) return {};
    const Timestamp now = clock.now();
    SLIPWAY_TRY(
        runs::insert_workspace(writer, {.name = name, .description = "", .created_at = now, .runs = 0}));
    return compute::insert_cluster(writer, compute::local_cluster(name, now));
  });
}

std::string url_of(std::string_view scheme, const std::string& address, uint16_t port) {
  const bool six = address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", scheme, six ? "[" : "", address, six ? "]" : "", port);
}

// The times of the liveness rules and of ageing, which tests and impatient sites shorten: SLIPWAY_HEARTBEAT,
// SLIPWAY_SILENCE, SLIPWAY_GRACE, SLIPWAY_AGEING, each a duration such as "5s".
Result<runs::LivenessTimes> liveness_times() {
  runs::LivenessTimes times;
  for (const auto& [name, target] :
       {std::pair{"SLIPWAY_HEARTBEAT", &times.heartbeat}, std::pair{"SLIPWAY_SILENCE", &times.silence},
        std::pair{"SLIPWAY_GRACE", &times.grace}, std::pair{"SLIPWAY_AGEING", &times.ageing},
        std::pair{"SLIPWAY_RENDEZVOUS", &times.rendezvous}}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    SLIPWAY_ASSIGN(*target, parse_duration(text));
  }
  if (times.ageing <= Duration::zero())
    return fail(ErrorCode::kInvalidArgument, "SLIPWAY_AGEING is no time in which a waiting run could rise",
                "give it a duration such as 30m");
  return times;
}

// Of the logs of one node's part of an attempt; what comes beyond is dropped with a mark. SLIPWAY_LOG_QUOTA,
// such as "2GB", for sites with small disks.
Result<uint64_t> log_quota() {
  const char* text = std::getenv("SLIPWAY_LOG_QUOTA");
  if (text == nullptr) return kDefaultLogQuota;
  return cli::parse_bytes(text);
}

// Everything the control plane is made of, in the order it is built and, reversed, taken down.
class ControlPlane {
 public:
  explicit ControlPlane(const cli::ServerSettings& settings) : settings_(settings), home_(settings.home) {}

  Status build();
  Status start();
  void wait() { stop_.wait(); }
  void take_down();

 private:
  Status open_stores();
  Status build_services();
  Status listen();
  Status start_engine();
  std::vector<RunId> runs_on_nodes(bool of_users);
  void cancel_active_runs(bool of_users);

  const cli::ServerSettings& settings_;
  const fs::path home_;
  const SystemClock clock_;
  Notifier notifier_;
  StopSignal stop_;
  std::atomic<bool> end_replicas_ = false;
  std::optional<FileLock> lock_;
  std::unique_ptr<store::Database> database_;
  std::unique_ptr<blobs::BlobStore> blobs_;
  std::unique_ptr<metrics::MetricStore> metrics_;
  std::optional<runs::LogStore> logs_;
  std::optional<compute::NodeRegistry> nodes_;
  std::optional<data::Datastores> datastores_;
  std::optional<data::Datasets> datasets_;
  std::optional<runs::RunOutputs> outputs_;
  std::optional<runs::Orchestrator> orchestrator_;
  std::optional<runs::Submissions> submissions_;
  std::optional<runs::InteractiveRuns> interactive_;
  std::optional<runs::Attempts> attempts_;
  std::optional<runs::Snapshots> snapshots_;
  std::optional<models::Trials> trials_;
  std::optional<models::Registry> models_;
  std::optional<runs::Housekeeping> housekeeping_;
  std::optional<data::Seal> seal_;
  std::optional<services::FrontDoor> front_door_;
  std::optional<services::Controller> controller_;
  std::optional<services::Deployments> deployments_;
  std::optional<routes::Services> services_;
  http::Router router_;
  std::unique_ptr<http::Authoriser> authoriser_;
  std::optional<http::Server> server_;
  std::optional<http::Server> loopback_server_;
  std::string public_url_;
  std::string local_url_;
  std::optional<compute::LocalEngine> engine_;
};

Status ControlPlane::open_stores() {
  SLIPWAY_ASSIGN(database_,
                 store::open_sqlite({.path = (home_ / "slipway.db").string()}, store::migrations()));
  SLIPWAY_ASSIGN(blobs_, blobs::open_folder_store((home_ / "blobs").string()));
  metrics_ = metrics::make_sql_metric_store(*database_);
  logs_.emplace(home_ / "logs");
  SLIPWAY_TRY(ensure_default_workspace(*database_, clock_));
  if (settings_.require_token) {
    SLIPWAY_TRY(access::ensure_first_token(*database_, (home_ / "token").string(), clock_));
    authoriser_ = std::make_unique<access::TokenAuthoriser>(*database_, clock_);
  } else {
    authoriser_ = std::make_unique<access::NoAuthoriser>();
    log_warning("auth.none", {{"what", "every program on this machine can use this server"}});
  }
  return {};
}

Status ControlPlane::build() {
  SLIPWAY_ASSIGN(lock_, take_home(home_));
  if (settings_.log_to_file) configure_log(LogLevel::kInfo, (home_ / "server.log").string());
  raise_file_limit();
  node::make_room_for_limits();
  SLIPWAY_TRY(open_stores());
  SLIPWAY_ASSIGN(const auto times, liveness_times());
  nodes_.emplace(clock_, times.silence / 2);
  orchestrator_.emplace(*database_, *nodes_, clock_, notifier_, times);
  SLIPWAY_TRY(orchestrator_->load());
  submissions_.emplace(*database_, *orchestrator_, clock_);
  interactive_.emplace(*database_, *orchestrator_, clock_);
  SLIPWAY_ASSIGN(const uint64_t quota, log_quota());
  seal_.emplace(home_ / "secrets.key");
  attempts_.emplace(*database_, *orchestrator_, *nodes_, *logs_, *metrics_, *blobs_, *seal_, clock_, quota);
  snapshots_.emplace(*database_, *blobs_, clock_);
  datastores_.emplace(*database_, *blobs_, clock_, *seal_);
  datasets_.emplace(*database_, *blobs_, *datastores_, clock_);
  outputs_.emplace(*database_, *blobs_, *datasets_);
  trials_.emplace(*database_, *submissions_, *orchestrator_, *snapshots_, *logs_);
  models_.emplace(*database_, *blobs_, *snapshots_, *trials_, clock_);
  housekeeping_.emplace(*database_, *blobs_, *logs_, clock_);
  SLIPWAY_TRY(build_services());
  services_.emplace(routes::Services{.database = *database_,
                                     .blobs = *blobs_,
                                     .metrics = *metrics_,
                                     .nodes = *nodes_,
                                     .orchestrator = *orchestrator_,
                                     .submissions = *submissions_,
                                     .interactive = *interactive_,
                                     .attempts = *attempts_,
                                     .snapshots = *snapshots_,
                                     .logs = *logs_,
                                     .datastores = *datastores_,
                                     .datasets = *datasets_,
                                     .outputs = *outputs_,
                                     .trials = *trials_,
                                     .models = *models_,
                                     .housekeeping = *housekeeping_,
                                     .deployments = *deployments_,
                                     .notifier = notifier_,
                                     .clock = clock_,
                                     .home = home_.string(),
                                     .require_token = settings_.require_token,
                                     .started_at = clock_.now(),
                                     .shut_down = [this](bool cancel, bool leave) {
                                       end_replicas_ = !leave;
                                       stop_.raise(cancel);
                                     }});
  routes::add_all_routes(router_, *services_);
  return {};
}

Status ControlPlane::build_services() {
  front_door_.emplace(clock_);
  controller_.emplace(services::Controller::Parts{.database = *database_,
                                                  .orchestrator = *orchestrator_,
                                                  .submissions = *submissions_,
                                                  .nodes = *nodes_,
                                                  .logs = *logs_,
                                                  .metrics = *metrics_,
                                                  .door = *front_door_,
                                                  .notifier = notifier_,
                                                  .clock = clock_,
                                                  .seal = *seal_});
  deployments_.emplace(*database_, *orchestrator_, *submissions_, *controller_, *front_door_, clock_, *seal_);
  attempts_->complete_orders([this](store::Reader& reader, const runs::Run& run, AttemptOrder& order) {
    return services::complete_order(reader, *seal_, run, order);
  });
  return controller_->load();
}

Status ControlPlane::start_engine() {
  engine_.emplace(
      compute::LocalEngineOptions{
          .home = home_,
          .url = local_url_,
          .make_token = [this](const NodeId& node) -> Result<Secret> {
            Secret text;
            const auto info = nodes_->find(node);
            SLIPWAY_TRY(database_->write([&](store::Writer& writer) -> Status {
              const WorkspaceName workspace = info ? info->record.cluster.workspace : WorkspaceName();
              SLIPWAY_ASSIGN(auto token, access::create_node_token(writer, node, workspace, clock_.now()));
              text = std::move(token.text);
              return {};
            }));
            return text;
          },
          .clear_attempt = node::clear_attempt},
      [this](const compute::NodeEvent& event) { orchestrator_->node_event(event); });
  SLIPWAY_TRY(engine_->recover(orchestrator_->wanted_nodes()));
  orchestrator_->start(*engine_, [this](const compute::ClusterSpec& spec, compute::AllocationSink sink) {
    return std::make_unique<compute::SlurmAllocator>(
        spec, slurm_options(*database_, home_, clock_, public_url_, settings_.tls_certificate),
        std::move(sink));
  });
  return {};
}

// With TLS there is a second listener on loopback, without: the agents of this machine and its command line
// need not trust a certificate that was made for another name.
Status ControlPlane::listen() {
  http::ServerOptions options;
  options.address = settings_.address;
  options.port = settings_.port;
  if (!settings_.tls_certificate.empty())
    options.tls = http::TlsFiles{settings_.tls_certificate, settings_.tls_key};
  server_.emplace(options, router_, *authoriser_, notifier_, &*front_door_);
  SLIPWAY_TRY(server_->start());
  public_url_ = url_of(options.tls ? "https" : "http", options.address, server_->port());
  local_url_ = public_url_;
  if (!options.tls) return {};
  http::ServerOptions loopback;
  loopback_server_.emplace(loopback, router_, *authoriser_, notifier_, &*front_door_);
  SLIPWAY_TRY(loopback_server_->start());
  local_url_ = url_of("http", loopback.address, loopback_server_->port());
  return {};
}

Status ControlPlane::start() {
  SLIPWAY_TRY(listen());
  SLIPWAY_TRY(replace_file(home_ / "server.json", json::serialize(json::object{
                                                      {"url", local_url_},
                                                      {"public_url", public_url_},
                                                      {"pid", ::getpid()},
                                                      {"version", SLIPWAY_VERSION},
                                                      {"auth", settings_.require_token ? "token" : "none"}}) +
                                                      "\n"));
  SLIPWAY_TRY(start_engine());
  controller_->start({.open = [this](const std::string& service,
                                     uint16_t port) { return server_->open_door(service, port); },
                      .close = [this](const std::string& service) { server_->close_door(service); }});
  housekeeping_->start();
  log_info("server.ready", {{"url", public_url_}, {"home", home_.string()}, {"version", SLIPWAY_VERSION}});
  if (settings_.on_ready) settings_.on_ready(public_url_);
  return {};
}

// Those that hold nodes, the users' among them or not; what waits goes on waiting and is placed by the next
// server.
std::vector<RunId> ControlPlane::runs_on_nodes(bool of_users) {
  std::vector<RunId> found;
  const Status read = database_->read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(const auto parts, runs::open_parts(reader));
    for (const runs::Part& part : parts) {
      if (part.key.rank != 0) continue;
      SLIPWAY_ASSIGN(const runs::Run run, runs::load_run(reader, part.key.run));
      if (of_users || run.kind != runs::RunKind::kJob) found.push_back(part.key.run);
    }
    return {};
  });
  if (!read) log_warning("shutdown.read_failed", {{"error", read.error()}});
  return found;
}

void ControlPlane::cancel_active_runs(bool of_users) {
  for (const RunId& id : runs_on_nodes(of_users)) {
    const Status canceled = database_->write([&](store::Writer& writer) -> Status {
      SLIPWAY_ASSIGN(runs::Run run, runs::load_run(writer, id));
      auto verdict = orchestrator_->transitions().apply(
          writer, run,
          {.kind = runs::EventKind::kCancelAsked, .reason = "Slipway is shutting down", .outcome = {}});
      if (!verdict) return fail(std::move(verdict).error());
      return {};
    });
    if (!canceled) log_warning("shutdown.cancel_failed", {{"run", id}, {"error", canceled.error()}});
  }
  const Monotonic until = clock_.monotonic() + kCancelTime;
  while (!runs_on_nodes(of_users).empty() && clock_.monotonic() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

void ControlPlane::take_down() {
  log_info("server.stopping");
  controller_->stop();
  orchestrator_->stop();  // nothing is placed any more
  if (stop_.cancel_runs() || end_replicas_) {
    if (const Status told = controller_->let_all_go(); !told)
      log_warning("shutdown.services", {{"error", told.error()}});
    cancel_active_runs(stop_.cancel_runs());
    if (stop_.cancel_runs()) orchestrator_->end_waiting_allocations(kAllocationsTime);
  }
  // Agents end with the server, jobs do not: their supervisors go on and the next server's agents find them.
  if (engine_)
    if (const Status stopped = engine_->stop_agents(kAgentStopTime); !stopped)
      log_warning("shutdown.agents", {{"error", stopped.error()}});
  if (datasets_) datasets_->stop();  // a handler may be reading a large folder
  if (server_) server_->stop();
  if (loopback_server_) loopback_server_->stop();
  engine_.reset();
  orchestrator_->close_engines();
  housekeeping_->stop();
  ::unlink((home_ / "server.json").c_str());
}

}  // namespace

Status run_server(const cli::ServerSettings& settings) {
  ControlPlane plane(settings);
  SLIPWAY_TRY(plane.build());
  if (const Status started = plane.start(); !started) {
    plane.take_down();
    return started;
  }
  plane.wait();
  plane.take_down();
  return {};
}

json::array describe_routes() {
  json::array table;
  for (const routes::RouteRow& row : routes::all_routes())
    table.push_back(json::object{{"method", http::to_text(row.method)},
                                 {"pattern", row.pattern},
                                 {"access", http::to_text(row.access)}});
  return table;
}

}  // namespace slipway::roles
