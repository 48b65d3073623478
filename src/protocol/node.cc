#include "protocol/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/digest.h"
#include "base/file.h"

namespace slipway {
namespace {

// Experiment (64), dash and 8 characters, with room to spare.
constexpr size_t kMaxRunId = 96;
constexpr size_t kMaxAddress = 256;
constexpr size_t kMaxPorts = 1024;

// A host name or an IP address: letters, digits and what joins them. It goes into host files and variables.
bool is_address(std::string_view text) {
  return !text.empty() && text.size() <= kMaxAddress && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == ':' || c == '-' || c == '_';
  });
}

// Messages between agent and server are read leniently: either may be the newer of the two.
Result<Peer> peer_from_json(const json::value& value) {
  if (!value.is_object()) return fail(ErrorCode::kInvalidArgument, "a peer of the order must be an object");
  Peer peer;
  JsonFields fields(value.get_object(), "the peer");
  fields.required("rank", peer.rank);
  fields.required("node", peer.node);
  fields.optional("address", peer.address);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_TRY(check_name(peer.node.str(), "node", kMaxRunId));
  if (peer.rank < 0 || peer.address.size() > kMaxAddress || peer.address.find('\0') != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "a peer of the order has no usable rank or address");
  return peer;
}

json::object to_json(const Peer& peer) {
  return {{"rank", peer.rank}, {"node", peer.node.str()}, {"address", peer.address}};
}

Result<std::vector<int>> gpu_indices_from_json(const json::array& array) {
  std::vector<int> indices;
  for (const json::value& item : array) {
    if (!item.is_int64() || item.get_int64() < 0 || item.get_int64() > 1023)
      return fail(ErrorCode::kInvalidArgument,
                  "the order: field 'gpu_indices' must be a list of GPU numbers");
    indices.push_back(static_cast<int>(item.get_int64()));
  }
  return indices;
}

}  // namespace

std::string to_text(const AttemptKey& key) {
  return fmt::format("{}.{}.{}", key.run, key.attempt, key.rank);
}

json::object to_json(const AttemptKey& key) {
  return {{"run", key.run.str()}, {"attempt", key.attempt}, {"rank", key.rank}};
}

Result<AttemptKey> attempt_key_from_json(const json::object& object) {
  AttemptKey key;
  JsonFields fields(object, "the attempt");
  fields.required("run", key.run);
  fields.required("attempt", key.attempt);
  fields.required("rank", key.rank);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_TRY(check_name(key.run.str(), "run", kMaxRunId));
  if (key.attempt < 1) return fail(ErrorCode::kInvalidArgument, "attempts are counted from 1");
  if (key.rank < 0) return fail(ErrorCode::kInvalidArgument, "ranks are counted from 0");
  return key;
}

json::object to_json(const NodeCapacity& capacity) {
  return {{"cpus", json_number(capacity.cpus)},
          {"memory_bytes", capacity.memory_bytes},
          {"gpus", capacity.gpus},
          {"gpu_names", to_json(capacity.gpu_names)}};
}

Result<NodeCapacity> node_capacity_from_json(const json::object& object) {
  NodeCapacity capacity;
  JsonFields fields(object, "the capacity");
  fields.required("cpus", capacity.cpus);
  fields.required("memory_bytes", capacity.memory_bytes);
  fields.optional("gpus", capacity.gpus);
  fields.optional("gpu_names", capacity.gpu_names);
  SLIPWAY_TRY(fields.finish_lenient());
  if (!std::isfinite(capacity.cpus) || capacity.cpus < 0 || capacity.gpus < 0)
    return fail(ErrorCode::kInvalidArgument, "a node's capacity cannot be negative");
  return capacity;
}

json::object to_json(const NodeOffer& offer) {
  return {{"rank", offer.rank},
          {"address", offer.address},
          {"ports", json::array(offer.ports.begin(), offer.ports.end())}};
}

Result<NodeOffer> node_offer_from_json(const json::object& object) {
  NodeOffer offer;
  json::array ports;
  JsonFields fields(object, "the offer");
  fields.required("rank", offer.rank);
  fields.required("address", offer.address);
  fields.optional("ports", ports);
  SLIPWAY_TRY(fields.finish_lenient());
  if (offer.rank < 0 || !is_address(offer.address) || ports.size() > kMaxPorts)
    return fail(ErrorCode::kInvalidArgument, "the offer of a node has no usable rank, address or ports");
  for (const json::value& item : ports) {
    if (!item.is_int64() || item.get_int64() < 1 || item.get_int64() > 65'535)
      return fail(ErrorCode::kInvalidArgument, "the offer: field 'ports' must be a list of port numbers");
    offer.ports.push_back(static_cast<int>(item.get_int64()));
  }
  return offer;
}

json::object to_json(const Rendezvous& rendezvous) {
  json::array offers;
  for (const NodeOffer& offer : rendezvous.offers) offers.emplace_back(to_json(offer));
  return {{"offers", std::move(offers)},
          {"missing", json::array(rendezvous.missing.begin(), rendezvous.missing.end())}};
}

Result<Rendezvous> rendezvous_from_json(const json::object& object) {
  Rendezvous rendezvous;
  json::array offers;
  json::array missing;
  JsonFields fields(object, "the rendezvous");
  fields.optional("offers", offers);
  fields.optional("missing", missing);
  SLIPWAY_TRY(fields.finish_lenient());
  for (const json::value& item : offers) {
    if (!item.is_object()) return fail(ErrorCode::kInvalidArgument, "an offer is an object");
    SLIPWAY_ASSIGN(NodeOffer offer, node_offer_from_json(item.get_object()));
    rendezvous.offers.push_back(std::move(offer));
  }
  for (const json::value& item : missing) {
    if (!item.is_int64()) return fail(ErrorCode::kInvalidArgument, "a missing rank is a number");
    rendezvous.missing.push_back(static_cast<int>(item.get_int64()));
  }
  return rendezvous;
}

json::object to_json(const AttemptOrder& order) {
  json::array peers;
  for (const Peer& peer : order.peers) peers.emplace_back(to_json(peer));
  json::array inputs;
  for (const InputOrder& input : order.inputs) inputs.emplace_back(to_json(input));
  json::array models;
  for (const ModelOrder& model : order.models) models.emplace_back(to_json(model));
  return {{"key", to_json(order.key)},
          {"workspace", order.workspace.str()},
          {"job", to_json(order.job)},
          {"environment", to_json(order.environment)},
          {"inputs", std::move(inputs)},
          {"models", std::move(models)},
          {"peers", std::move(peers)},
          {"granted", to_json(order.granted)},
          {"gpu_indices", json::array(order.gpu_indices.begin(), order.gpu_indices.end())},
          {"run_token", order.run_token.reveal()},
          {"launch_secret", order.launch_secret.reveal()},
          {"log_quota_bytes", order.log_quota_bytes},
          {"submitted_at", order.submitted_at.micros}};
}

Result<AttemptOrder> attempt_order_from_json(const json::object& object) {
  AttemptOrder order;
  json::object key;
  json::object job;
  json::object environment;
  json::array inputs;
  json::array models;
  json::array peers;
  json::object granted;
  json::array gpu_indices;
  std::string run_token;
  std::string launch_secret;
  JsonFields fields(object, "the order");
  fields.required("key", key);
  fields.required("workspace", order.workspace);
  fields.required("job", job);
  fields.optional("environment", environment);
  fields.optional("inputs", inputs);
  fields.optional("models", models);
  fields.optional("peers", peers);
  fields.required("granted", granted);
  fields.optional("gpu_indices", gpu_indices);
  fields.optional("run_token", run_token);
  fields.optional("launch_secret", launch_secret);
  fields.optional("log_quota_bytes", order.log_quota_bytes);
  fields.optional("submitted_at", order.submitted_at);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_ASSIGN(order.key, attempt_key_from_json(key));
  SLIPWAY_TRY(check_name(order.workspace.str(), "workspace"));
  SLIPWAY_ASSIGN(order.job, job_from_json(job));
  SLIPWAY_ASSIGN(order.environment, environment_order_from_json(environment));
  for (const json::value& item : inputs) {
    if (!item.is_object()) return fail(ErrorCode::kInvalidArgument, "an input of the order is not an object");
    SLIPWAY_ASSIGN(InputOrder input, input_order_from_json(item.get_object()));
    order.inputs.push_back(std::move(input));
  }
  for (const json::value& item : models) {
    if (!item.is_object()) return fail(ErrorCode::kInvalidArgument, "a model of the order is not an object");
    SLIPWAY_ASSIGN(ModelOrder model, model_order_from_json(item.get_object()));
    order.models.push_back(std::move(model));
  }
  SLIPWAY_ASSIGN(order.granted, resources_from_json(granted));
  for (const json::value& item : peers) {
    SLIPWAY_ASSIGN(Peer peer, peer_from_json(item));
    order.peers.push_back(std::move(peer));
  }
  SLIPWAY_ASSIGN(order.gpu_indices, gpu_indices_from_json(gpu_indices));
  if (run_token.find('\0') != std::string::npos || launch_secret.find('\0') != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "the order: field 'run_token' or 'launch_secret' is no token");
  order.run_token = Secret(std::move(run_token));
  order.launch_secret = Secret(std::move(launch_secret));
  return order;
}

json::object to_json(const ExitStatus& status) {
  return {{"code", status.code},
          {"signal", status.signal},
          {"out_of_memory", status.out_of_memory},
          {"timed_out", status.timed_out},
          {"canceled", status.canceled},
          {"killed_after_grace", status.killed_after_grace},
          {"reason", status.reason},
          {"started", status.started.micros},
          {"ended", status.ended.micros}};
}

Result<ExitStatus> exit_status_from_json(const json::object& object) {
  ExitStatus status;
  JsonFields fields(object, "the exit status");
  fields.required("code", status.code);
  fields.optional("signal", status.signal);
  fields.optional("out_of_memory", status.out_of_memory);
  fields.optional("timed_out", status.timed_out);
  fields.optional("canceled", status.canceled);
  fields.optional("killed_after_grace", status.killed_after_grace);
  fields.optional("reason", status.reason);
  fields.optional("started", status.started);
  fields.optional("ended", status.ended);
  SLIPWAY_TRY(fields.finish_lenient());
  return status;
}

json::object to_json(const OutputFile& file) {
  return {{"path", file.path}, {"digest", file.digest}, {"size", file.size}, {"mode", file.mode}};
}

Result<OutputFile> output_file_from_json(const json::object& object) {
  OutputFile file;
  JsonFields fields(object, "the file");
  fields.required("path", file.path);
  fields.required("digest", file.digest);
  fields.required("size", file.size);
  fields.optional("mode", file.mode);
  SLIPWAY_TRY(fields.finish_lenient());
  if (!is_clean_relative_path(file.path))
    return fail(ErrorCode::kInvalidArgument,
                "the path of a kept file leaves its folder or has an odd component");
  SLIPWAY_TRY(Digest::parse(file.digest));
  if (file.mode < 0 || file.mode > 07777)
    return fail(ErrorCode::kInvalidArgument, "the mode of a kept file is no file mode");
  return file;
}

}  // namespace slipway
