// What agents tell about the attempts they hold, and what they are told. Every call names the node and the
// attempt; one that is not open on that node any more is answered kStale, which makes the agent end it. That
// one rule covers late successes, partitions and repeated messages.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "blobs/blob_store.h"
#include "data/credentials.h"
#include "environments/lock_store.h"
#include "metrics/metric_store.h"
#include "protocol/node.h"
#include "runs/log_store.h"
#include "runs/orchestrator.h"
#include "store/database.h"

namespace slipway::runs {

struct SkippedOutput {
  std::string path;
  std::string why;
};

// Whether the first node says how the run went, and the others are ended with it: where mpirun runs, and
// where workers and parameter servers wait for ever.
bool ends_with_first_node(const Job& job);

class Attempts {
 public:
  // All outlive it. `log_quota_bytes`: of one node's part of an attempt; 0: none.
  Attempts(store::Database& database, Orchestrator& orchestrator, compute::NodeRegistry& nodes,
           LogStore& logs, metrics::MetricStore& metrics, blobs::BlobStore& blobs, data::Seal seal,
           const Clock& clock, uint64_t log_quota_bytes);

  // Adds to an order what is in nobody's record, such as the key of a service's replica. To be set before the
  // first claim; called within its transaction.
  using Completion = std::function<Status(store::Reader&, const Run&, AttemptOrder&)>;
  void complete_orders(Completion completion) { completion_ = std::move(completion); }

  // The order for a part that this node is to start; mints the run's token. May be repeated until it has
  // started. `platform` is the node's, such as "linux-x86_64".
  Result<AttemptOrder> claim(const NodeId& node, const AttemptKey& key, const std::string& platform = "");

  // Takes whole records of the journal from `offset` on, and answers how far the journal is stored now.
  // Repeated bytes do nothing; kConflict when `offset` lies beyond what is stored.
  Result<uint64_t> take_journal(const NodeId& node, const AttemptKey& key, uint64_t offset,
                                std::string_view bytes);
  // How far the journal is stored.
  Result<uint64_t> journal_offset(const NodeId& node, const AttemptKey& key);

  // Files kept from ./outputs, whose blobs are stored already. Later ones replace earlier ones of the same
  // path.
  Status take_files(const NodeId& node, const AttemptKey& key, const std::vector<OutputFile>& files,
                    const std::vector<SkippedOutput>& skipped);
  // What this node offers the others of its attempt; answered with all offers once every node has made its
  // own. When some have not for the whole rendezvous time, the run fails with their names.
  Result<Rendezvous> take_offer(const NodeId& node, const AttemptKey& key, const NodeOffer& offer);
  // What the node resolved the run's environment to. Answers the lock to build from: that of the first node
  // which reported one for this key and platform.
  Result<environments::StoredLock> take_lock(const NodeId& node, const AttemptKey& key,
                                             const environments::StoredLock& lock);
  // What its part runs with, for the run's record.
  Status take_environment(const NodeId& node, const AttemptKey& key, const json::object& report);
  // The node could not prepare or start its part. `ending`: because the node itself was told to end.
  Status preparation_failed(const NodeId& node, const AttemptKey& key, const std::string& reason,
                            bool ending = false);
  // Its journal is stored to the end and its outputs are kept, or `lost` says which are not and why: then a
  // job that ended well has failed all the same. Where it may have been the node's engine that ended it, the
  // run is settled once the engine has said so.
  Status finished(const NodeId& node, const AttemptKey& key, bool ending = false,
                  const std::string& lost = "");

  // Of those the agent holds, the ones it must end.
  Result<std::vector<AttemptKey>> not_wanted(const NodeId& node, const std::vector<AttemptKey>& held);

 private:
  bool in_doubt(const NodeId& node, const AttemptKey& key, bool ending);

  struct Batch;
  Result<Batch> parse(std::string_view bytes, uint64_t offset, uint64_t stored) const;
  static void take_values(const journal::Record& record, Batch& batch);
  static Status store_properties(store::Writer& writer, const Run& run, Batch& batch);
  static Status take_phase(const json::object& document, Timestamp time, Batch& batch);
  static Status store_note(store::Writer& writer, const Run& run, const Part& part, RunEvent note);
  Status store_batch(store::Writer& writer, const Part& before, Batch& batch);
  Result<Secret> launch_secret(store::Writer& writer, const Run& run);
  Status all_have_come(store::Writer& writer, const std::vector<Part>& parts);
  Status take_exit(store::Writer& writer, Run& run, Part& part, const ExitStatus& exit);

  store::Database& database_;
  Orchestrator& orchestrator_;
  compute::NodeRegistry& nodes_;
  LogStore& logs_;
  metrics::MetricStore& metrics_;
  blobs::BlobStore& blobs_;
  const data::Seal seal_;
  const Clock& clock_;
  const uint64_t log_quota_bytes_;
  Completion completion_;
};

}  // namespace slipway::runs
