#include "runs/attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "access/token.h"
#include "base/log.h"
#include "blobs/references.h"
#include "runs/attempt_end.h"
#include "runs/job_data.h"
#include "runs/job_models.h"
#include "runs/run_environment.h"
#include "runs/run_table.h"

namespace slipway::runs {
namespace {

constexpr size_t kMostSkippedShown = 200;

}  // namespace

Attempts::Attempts(store::Database& database, Orchestrator& orchestrator, compute::NodeRegistry& nodes,
                   LogStore& logs, metrics::MetricStore& metrics, blobs::BlobStore& blobs, data::Seal seal,
                   const Clock& clock, uint64_t log_quota_bytes)
    : database_(database),
      orchestrator_(orchestrator),
      nodes_(nodes),
      logs_(logs),
      metrics_(metrics),
      blobs_(blobs),
      seal_(std::move(seal)),
      clock_(clock),
      log_quota_bytes_(log_quota_bytes) {}

Result<AttemptOrder> Attempts::claim(const NodeId& node, const AttemptKey& key, const std::string& platform) {
  AttemptOrder order;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(Part part, load_open_part(writer, node, key));
    SLIPWAY_ASSIGN(const Run run, load_run(writer, key.run));
    if (part.state == PartState::kOrdered) {
      part.state = PartState::kClaimed;
      SLIPWAY_TRY(update_part(writer, part));
    }
    SLIPWAY_ASSIGN(const auto parts, parts_of_attempt(writer, key.run, key.attempt));
    SLIPWAY_ASSIGN(EnvironmentOrder environment, environment_order(writer, run, platform));
    order = {.key = key,
             .workspace = run.workspace,
             .job = run.job,
             .environment = std::move(environment),
             .inputs = {},
             .models = {},
             .peers = {},
             .granted = part.granted,
             .gpu_indices = part.gpu_indices,
             .run_token = {},
             .launch_secret = {},
             .log_quota_bytes = log_quota_bytes_,
             .submitted_at = run.submitted_at};
    SLIPWAY_ASSIGN(order.inputs, input_orders(writer, run));
    SLIPWAY_ASSIGN(order.launch_secret, launch_secret(writer, run));
    SLIPWAY_ASSIGN(order.models, model_orders(writer, run));
    for (const Part& peer : parts) {
      const auto info = nodes_.find(peer.node);
      order.peers.push_back(
          {.rank = peer.key.rank, .node = peer.node, .address = info ? info->record.address : ""});
    }
    SLIPWAY_ASSIGN(const auto token,
                   access::create_run_token(writer, key.run, key.attempt, run.workspace, clock_.now()));
    order.run_token = token.text;
    if (completion_) SLIPWAY_TRY(completion_(writer, run, order));
    return set_part_token(writer, key, token.id);
  }));
  return order;
}

Result<uint64_t> Attempts::journal_offset(const NodeId& node, const AttemptKey& key) {
  uint64_t offset = 0;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(const Part part, load_open_part(reader, node, key));
    offset = part.journal_offset;
    return {};
  }));
  return offset;
}

Status Attempts::take_files(const NodeId& node, const AttemptKey& key, const std::vector<OutputFile>& files,
                            const std::vector<SkippedOutput>& skipped) {
  std::vector<Digest> digests;
  for (const OutputFile& file : files) {
    SLIPWAY_ASSIGN(const Digest digest, Digest::parse(file.digest));
    if (!blobs_.size_of(digest))
      return fail(ErrorCode::kConflict, fmt::format("the content of '{}' has not been uploaded", file.path));
    digests.push_back(digest);
  }
  return database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const Part part, load_open_part(writer, node, key));
    SLIPWAY_ASSIGN(Run run, load_run(writer, key.run));
    for (size_t i = 0; i < files.size(); ++i) {
      const OutputFile& file = files[i];
      SLIPWAY_TRY(
          writer.run("INSERT INTO run_files (run, path, digest, size, mode) VALUES (?, ?, ?, ?, ?) "
                     "ON CONFLICT (run, path) DO UPDATE SET digest = excluded.digest, size = excluded.size, "
                     "mode = excluded.mode",
                     {run.id, file.path, file.digest, file.size, file.mode}));
      SLIPWAY_TRY(
          blobs::add_reference(writer, digests[i], blobs::run_owner(run.id), run.workspace, std::nullopt));
    }
    for (const SkippedOutput& skip : skipped) {
      std::string line = fmt::format("{}: {}", skip.path, skip.why);
      const bool known = std::find(run.skipped.begin(), run.skipped.end(), line) != run.skipped.end();
      if (!known && run.skipped.size() < kMostSkippedShown) run.skipped.push_back(std::move(line));
    }
    if (!skipped.empty()) SLIPWAY_TRY(store_skipped(writer, run));
    return {};
  });
}

Result<environments::StoredLock> Attempts::take_lock(const NodeId& node, const AttemptKey& key,
                                                     const environments::StoredLock& lock) {
  environments::StoredLock current;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const Part part, load_open_part(writer, node, key));
    SLIPWAY_ASSIGN(const Run run, load_run(writer, key.run));
    SLIPWAY_ASSIGN(const auto environment, load_run_environment(writer, run));
    if (!environment || environment->key != lock.key)
      return fail(ErrorCode::kInvalidArgument, fmt::format("run '{}' has another environment", run.id));
    SLIPWAY_ASSIGN(current, environments::take_lock(writer, run.workspace, lock, clock_.now()));
    return {};
  }));
  return current;
}

Status Attempts::take_environment(const NodeId& node, const AttemptKey& key, const json::object& report) {
  return database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const Part part, load_open_part(writer, node, key));
    SLIPWAY_ASSIGN(const Run run, load_run(writer, key.run));
    return take_environment_report(writer, run, key.rank, report);
  });
}

Status Attempts::preparation_failed(const NodeId& node, const AttemptKey& key, const std::string& reason,
                                    bool ending) {
  if (in_doubt(node, key, ending)) return {};
  return database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const Part part, load_open_part(writer, node, key));
    SLIPWAY_ASSIGN(Run run, load_run(writer, key.run));
    auto verdict = orchestrator_.transitions().apply(
        writer, run, {.kind = EventKind::kPreparationFailed, .reason = reason, .outcome = Outcome::kFailure});
    if (!verdict) return fail(std::move(verdict).error());
    return {};
  });
}

bool Attempts::in_doubt(const NodeId& node, const AttemptKey& key, bool ending) {
  bool suspicious = ending;
  const Status read = database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(const Part part, load_open_part(reader, node, key));
    if (!part.exit) return {};
    suspicious = suspicious || (!part.exit->good() && !part.cancel);
    return {};
  });
  return read && suspicious && orchestrator_.may_be_ended_by_engine(key);
}

Status Attempts::finished(const NodeId& node, const AttemptKey& key, bool ending, const std::string& lost) {
  // Before the transaction: it may ask somebody else.
  const bool in_doubt = this->in_doubt(node, key, ending);
  return database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(Part part, load_open_part(writer, node, key));
    if (!part.exit)
      return fail(ErrorCode::kConflict,
                  fmt::format("the journal of {} has no exit record here yet", to_text(key)));
    if (part.exit->good()) part.exit->reason = lost;
    part.state = PartState::kFinished;
    SLIPWAY_TRY(update_part(writer, part));
    SLIPWAY_ASSIGN(const auto parts, parts_of_attempt(writer, key.run, key.attempt));
    if (!all_finished(parts) || in_doubt) return {};
    SLIPWAY_ASSIGN(Run run, load_run(writer, key.run));
    return conclude(writer, orchestrator_.transitions(), run, parts, clock_.now());
  });
}

Result<std::vector<AttemptKey>> Attempts::not_wanted(const NodeId& node,
                                                     const std::vector<AttemptKey>& held) {
  std::vector<AttemptKey> unwanted = held;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(const auto open, open_parts_of_node(reader, node));
    std::erase_if(unwanted, [&](const AttemptKey& key) {
      return std::any_of(open.begin(), open.end(), [&](const Part& part) { return part.key == key; });
    });
    return {};
  }));
  return unwanted;
}

}  // namespace slipway::runs
