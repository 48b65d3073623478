#include "serving/protocols/routes.h"

#include "serving/protocols/azure.h"
#include "serving/protocols/grpc_open_inference.h"
#include "serving/protocols/grpc_tensorflow.h"
#include "serving/protocols/mlflow.h"
#include "serving/protocols/open_inference.h"
#include "serving/protocols/tf_rest.h"

namespace slipway::serving {

void add_routes(http::Router& router, ServedModel& served, uint64_t body_limit) {
  add_tf_routes(router, served, body_limit);
  add_open_inference_routes(router, served, body_limit);
  add_azure_routes(router, served, body_limit);
  add_mlflow_routes(router, served, body_limit);
  add_grpc_tensorflow_routes(router, served, body_limit);
  add_grpc_open_inference_routes(router, served, body_limit);
  router.add({http::Method::kGet, "/metrics", http::Access::kReader,
              [&served](const http::Request&) -> Result<http::Response> {
                http::Response response;
                response.content_type = "text/plain; version=0.0.4; charset=utf-8";
                response.body = to_prometheus(served.statistics, served.name, served.version);
                return response;
              }});
}

}  // namespace slipway::serving
