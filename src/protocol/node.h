// What agents and the server say to each other (docs/node-protocol.md). Agents call, the server answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/secret.h"
#include "protocol/environment.h"
#include "protocol/job.h"

namespace slipway {

// One node's part of one attempt of a run. Every message of an agent about a run carries it.
struct AttemptKey {
  RunId run;
  int attempt = 1;  // from 1
  int rank = 0;     // of the node within the run, from 0
  auto operator<=>(const AttemptKey&) const = default;
};

std::string to_text(const AttemptKey& key);  // "digits-x7k2mq9w.1.0": also the name of its folder
json::object to_json(const AttemptKey& key);
Result<AttemptKey> attempt_key_from_json(const json::object& object);

struct NodeCapacity {
  double cpus = 0;
  uint64_t memory_bytes = 0;
  int gpus = 0;
  std::vector<std::string> gpu_names;
};

json::object to_json(const NodeCapacity& capacity);
Result<NodeCapacity> node_capacity_from_json(const json::object& object);

// A peer of a multi-node run.
struct Peer {
  int rank = 0;
  NodeId node;
  std::string address;
};

// What one node of a run with several processes offers the others before any of them starts: where it is
// reached, and ports that it holds for its processes.
struct NodeOffer {
  int rank = 0;  // of the node
  std::string address;
  std::vector<int> ports;
  bool operator==(const NodeOffer&) const = default;
};

json::object to_json(const NodeOffer& offer);
Result<NodeOffer> node_offer_from_json(const json::object& object);

// The answer to an offer. Nobody starts before all have come: then `offers` holds every node's, by rank.
struct Rendezvous {
  std::vector<NodeOffer> offers;  // empty while some are missing
  std::vector<int> missing;       // their ranks
};

json::object to_json(const Rendezvous& rendezvous);
Result<Rendezvous> rendezvous_from_json(const json::object& object);

// All an agent needs to start its part; the answer to a claim.
struct AttemptOrder {
  AttemptKey key;
  WorkspaceName workspace;
  Job job;
  EnvironmentOrder environment;
  std::vector<InputOrder> inputs;
  std::vector<ModelOrder> models;
  std::vector<Peer> peers;       // of all ranks, by rank
  Resources granted;             // what the node has set aside: cpus and memory never 0
  std::vector<int> gpu_indices;  // for CUDA_VISIBLE_DEVICES
  Secret run_token;
  Secret launch_secret;          // shared by the nodes of this attempt alone; empty: its launcher needs none
  uint64_t log_quota_bytes = 0;  // of all log streams together; 0: none
  Timestamp submitted_at;        // of the run: a build that failed after it is not tried again for it
};

json::object to_json(const AttemptOrder& order);  // with the token: for the wire and the 0600 spec file alone
Result<AttemptOrder> attempt_order_from_json(const json::object& object);

// How the process of an attempt ended.
struct ExitStatus {
  int code = 0;  // of the process; 128 + signal when a signal ended it
  int signal = 0;
  bool out_of_memory = false;
  bool timed_out = false;
  bool canceled = false;
  bool killed_after_grace = false;  // SIGTERM was ignored
  std::string reason;  // a sentence when it did not end well: "killed: out of memory (limit 512 MiB)"
  Timestamp started;
  Timestamp ended;
  bool good() const { return code == 0 && signal == 0 && !timed_out && !canceled && reason.empty(); }
};

json::object to_json(const ExitStatus& status);
Result<ExitStatus> exit_status_from_json(const json::object& object);

// A file kept from ./outputs.
struct OutputFile {
  std::string path;  // "outputs/model/weights.bin"
  std::string digest;
  uint64_t size = 0;
  int mode = 0644;
};

json::object to_json(const OutputFile& file);
Result<OutputFile> output_file_from_json(const json::object& object);

}  // namespace slipway
