// Bodies of POST and PATCH .../compute: whatever comes in, what is accepted keeps the rules and survives the
// way out.
#include "compute/cluster.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace slipway::compute {
namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

void try_cluster(const json::object& object) {
  auto request = cluster_spec_from_json(object);
  if (!request) return;
  ClusterSpec& spec = request->spec;
  spec.workspace = WorkspaceName("default");
  must(check(spec).has_value());
  must(!json::serialize(to_json(spec, {}, {}, 0)).empty());
  if (spec.engine == EngineKind::kSlurm) return;  // its nodes are not of this machine
  Machine machine;
  machine.cpus = 2;
  machine.memory_bytes = 1 << 30;
  const NodeSize size = node_size(spec, machine);
  must(size.capacity.cpus > 0 && size.capacity.cpus <= machine.cpus);
  must(size.capacity.memory_bytes > 0 && size.capacity.memory_bytes <= machine.memory_bytes);
  must(size.capacity.gpus == 0);
}

}  // namespace
}  // namespace slipway::compute

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto object = slipway::parse_json_object(text, "the cluster");
  if (!object) return 0;
  slipway::compute::try_cluster(*object);
  const auto local = slipway::compute::local_cluster(slipway::WorkspaceName("default"), {});
  if (const auto changed = slipway::compute::patched(local, *object))
    if (!slipway::compute::check(changed->spec)) std::abort();
  return 0;
}
