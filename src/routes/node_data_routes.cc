// What agents ask and tell about the data of an attempt (docs/node-protocol.md). Credentials of datastores
// leave the server here, in the answer to `input`, and nowhere else.
#include <fmt/format.h>

#include "data/datasets.h"
#include "routes/data_request.h"
#include "routes/request.h"
#include "routes/services.h"
#include "runs/attempt_table.h"
#include "runs/job_data.h"
#include "runs/run_table.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::BodyMode;
using http::Method;
using http::Request;
using http::Response;

constexpr uint64_t kLargestFileList = 64 << 20;

// The input's order, for an attempt that is open on that node.
struct NamedInput {
  runs::Run run;
  InputOrder order;
};

Result<NamedInput> input_of(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const AttemptKey key, attempt_of(request));
  const std::string& name = request.param("input");
  NamedInput found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_TRY(runs::load_open_part(reader, node_of(request), key));
    SLIPWAY_ASSIGN(found.run, runs::load_run(reader, key.run));
    SLIPWAY_ASSIGN(auto orders, runs::input_orders(reader, found.run));
    for (InputOrder& order : orders)
      if (order.name == name) {
        found.order = std::move(order);
        return {};
      }
    return fail(ErrorCode::kNotFound, fmt::format("{} has no input '{}'", key.run, name.substr(0, 64)));
  }));
  return found;
}

Result<Response> input(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const NamedInput found, input_of(services, request));
  SLIPWAY_ASSIGN(const Digest id, Digest::parse(found.order.manifest));
  SLIPWAY_ASSIGN(const auto manifest, services.datasets.manifest(id));
  json::object answer = to_json(found.order);
  json::array sources;
  for (const data::Source& source : manifest->sources()) {
    SLIPWAY_ASSIGN(const auto access, services.datastores.access(found.run.workspace, source));
    sources.push_back(data::to_json(access));
  }
  answer["sources"] = std::move(sources);
  return http::json_response(answer);
}

Result<Response> input_placed(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const NamedInput found, input_of(services, request));
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the input's place"));
  std::string path;
  std::string mode;
  std::string note;
  uint64_t fetched = 0;
  uint64_t cached = 0;
  double seconds = 0;
  JsonFields fields(body, "the input's place");
  fields.required("path", path);
  fields.required("mode", mode);
  fields.optional("note", note);
  fields.optional("fetched_bytes", fetched);
  fields.optional("cached_bytes", cached);
  fields.optional("seconds", seconds);
  SLIPWAY_TRY(fields.finish_lenient());
  const json::object placed{{"path", path},           {"mode", mode},
                            {"note", note},           {"fetched_bytes", fetched},
                            {"cached_bytes", cached}, {"seconds", json_number(seconds)}};
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) {
    return writer.run("UPDATE run_inputs SET placed = ? WHERE run = ? AND input = ?",
                      {json::serialize(placed), found.run.id, found.order.name});
  }));
  return http::json_response(json::object{});
}

Result<Response> output(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const AttemptKey key, attempt_of(request));
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the output"));
  json::array list;
  JsonFields fields(body, "the output");
  fields.required("files", list);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_ASSIGN(const auto files, stored_files_from_json(list));
  SLIPWAY_ASSIGN(const auto stored,
                 services.outputs.take(node_of(request), key, request.param("output"), files));
  return http::json_response(json::object{{"datastore", stored.datastore},
                                          {"path", stored.path},
                                          {"files", stored.files},
                                          {"bytes", stored.bytes}});
}

}  // namespace

std::vector<RouteRow> node_data_routes() {
  const std::string attempt = "/api/v1/nodes/{node}/attempts/{run}/{attempt}/{rank}";
  return {
      {Method::kGet, attempt + "/inputs/{input}", Access::kNode, input},
      {Method::kPost, attempt + "/inputs/{input}", Access::kNode, input_placed},
      {Method::kPost, attempt + "/outputs/{output}", Access::kNode, output, BodyMode::kBuffered,
       kLargestFileList},
  };
}

}  // namespace slipway::routes
