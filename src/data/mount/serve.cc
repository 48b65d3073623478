#include "data/mount/serve.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "base/log.h"
#include "data/mount/fuse_session.h"
#include "data/mount/lazy_files.h"
#include "data/mount/tree.h"

namespace slipway::data {
namespace {

json::object to_json(const MountPlan& plan) {
  json::array sources;
  for (const SourceAccess& source : plan.sources) sources.push_back(data::to_json(source));
  return {{"at", plan.at},           {"dataset", plan.dataset},
          {"verify", plan.verify},   {"sources", std::move(sources)},
          {"content", plan.content}, {"manifest_size", plan.manifest.size()}};
}

// Cuts its manifest off the front of `manifests`.
Result<MountPlan> mount_plan_from_json(const json::object& object, std::string_view& manifests) {
  MountPlan plan;
  json::array sources;
  uint64_t size = 0;
  JsonFields fields(object, "a mount");
  fields.required("at", plan.at);
  fields.required("dataset", plan.dataset);
  fields.required("verify", plan.verify);
  fields.required("sources", sources);
  fields.required("content", plan.content);
  fields.required("manifest_size", size);
  SLIPWAY_TRY(fields.finish_lenient());
  if (size > manifests.size()) return fail(ErrorCode::kInvalidArgument, "the order to mount is torn");
  plan.manifest = manifests.substr(0, size);
  manifests.remove_prefix(size);
  for (const json::value& source : sources) {
    if (!source.is_object()) return fail(ErrorCode::kInvalidArgument, "a mount: a source is no object");
    SLIPWAY_ASSIGN(plan.sources.emplace_back(), source_access_from_json(source.get_object()));
  }
  return plan;
}

}  // namespace

std::string to_text(const MountOrder& order) {
  json::array mounts;
  for (const MountPlan& plan : order.mounts) mounts.push_back(to_json(plan));
  std::string text = json::serialize(json::object{{"cache", order.cache},
                                                  {"cache_bytes", order.cache_bytes},
                                                  {"helped", order.way == MountWay::kHelped},
                                                  {"url", order.server.url},
                                                  {"token", order.server.token.reveal()},
                                                  {"ca_file", order.server.ca_file},
                                                  {"blobs", order.server.blobs.string()},
                                                  {"mounts", std::move(mounts)}});
  text += '\n';
  for (const MountPlan& plan : order.mounts) text += plan.manifest;
  return text;
}

Result<MountOrder> mount_order_from_text(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  std::string_view manifests = text.substr(std::min(text.size(), line.size() + 1));
  SLIPWAY_ASSIGN(const json::object object, parse_json_object(line, "the order to mount"));
  MountOrder order;
  json::array mounts;
  bool helped = false;
  std::string token;
  std::string blobs;
  JsonFields fields(object, "the order to mount");
  fields.required("cache", order.cache);
  fields.required("cache_bytes", order.cache_bytes);
  fields.required("helped", helped);
  fields.required("url", order.server.url);
  fields.required("token", token);
  fields.required("ca_file", order.server.ca_file);
  fields.required("blobs", blobs);
  fields.required("mounts", mounts);
  SLIPWAY_TRY(fields.finish_lenient());
  order.way = helped ? MountWay::kHelped : MountWay::kPrivileged;
  order.server.token = Secret(std::move(token));
  order.server.blobs = blobs;
  for (const json::value& mount : mounts) {
    if (!mount.is_object())
      return fail(ErrorCode::kInvalidArgument, "the order to mount: a mount is no object");
    SLIPWAY_ASSIGN(order.mounts.emplace_back(), mount_plan_from_json(mount.get_object(), manifests));
  }
  return order;
}

// In the order of their construction: what stands below uses what stands above.
struct MountServer::Served {
  Served(std::unique_ptr<FetchableVersion> opened, Mounted mounted_at, FileCache& cache,
         std::function<void(const Error&)> on_mismatch)
      : version(std::move(opened)),
        tree(version->files()),
        files(cache, version->wanted(),
              {.fetch = {.dataset = version->dataset()}, .on_mismatch = std::move(on_mismatch)}),
        mounted(std::move(mounted_at)),
        session(mounted.take_device(), tree, files),
        thread([this] {
          const Status ended = session.serve();
          if (!ended)
            log_warning("mount.broken", {{"dataset", version->dataset()}, {"error", ended.error()}});
          serving = false;
        }) {
    mounted.widen_read_ahead();
  }
  ~Served() { mounted.unmount(); }  // the session ends with it, and the thread with the session
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  std::unique_ptr<FetchableVersion> version;
  MountTree tree;
  LazyFiles files;
  Mounted mounted;
  FuseSession session;
  std::atomic<bool> serving = true;
  std::jthread thread;
};

MountServer::~MountServer() = default;

Status MountServer::add(const MountOrder& order, const MountPlan& plan,
                        const std::function<void(const Error&)>& on_mismatch) {
  SLIPWAY_ASSIGN(Manifest manifest, Manifest::parse(plan.manifest));
  SLIPWAY_ASSIGN(std::unique_ptr<FetchableVersion> version,
                 FetchableVersion::open({.dataset = plan.dataset,
                                         .manifest = std::move(manifest),
                                         .sources = plan.sources,
                                         .content = plan.content,
                                         .verify = plan.verify},
                                        order.server));
  SLIPWAY_ASSIGN(Mounted mounted, Mounted::mount(plan.at, "slipway:" + plan.dataset, order.way));
  served_.push_back(std::make_unique<Served>(std::move(version), std::move(mounted), *cache_, on_mismatch));
  log_info("mount.served", {{"dataset", plan.dataset}, {"at", plan.at}});
  return {};
}

Result<std::unique_ptr<MountServer>> MountServer::start(MountOrder order,
                                                        std::function<void(const Error&)> on_mismatch) {
  std::unique_ptr<MountServer> server(new MountServer());
  SLIPWAY_ASSIGN(server->cache_, FileCache::open(order.cache, order.cache_bytes));
  for (MountPlan& plan : order.mounts) {
    SLIPWAY_TRY(server->add(order, plan, on_mismatch));
    plan = {};  // a manifest's text may be large
  }
  return server;
}

bool MountServer::serving() const {
  for (const auto& served : served_)
    if (!served->serving) return false;
  return true;
}

}  // namespace slipway::data
