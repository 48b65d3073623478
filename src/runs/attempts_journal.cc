// The half of Attempts that takes journals in.
//
// Order of things, for one batch: parse, write the log bytes (idempotent by offset, synced), then one
// transaction with everything else and the new journal offset. A crash in between leaves log bytes that the
// repetition finds in place.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/failpoint.h"
#include "base/log.h"
#include "journal/record.h"
#include "runs/attempts.h"
#include "runs/run_environment.h"
#include "runs/run_table.h"

namespace slipway::runs {

struct Attempts::Batch {
  std::vector<journal::LogChunk> logs;
  std::vector<journal::Entry> entries;  // points and other values, in the order of logging
  std::vector<std::pair<Timestamp, std::string>> samples;
  std::map<std::string, std::string> tags;
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<std::string> warnings;  // explicit gaps
  std::vector<RunEvent> notes;        // of the preparation: kind, time and sentence
  std::vector<RunEvent> exits;        // of ranks that others than the supervisor have started
  json::object environment;           // what the node says about it; empty: nothing
  bool prepared = false;
  bool started = false;
  std::optional<Event> ending;  // told before the exit: one of its ranks failed, or the leader is done
  std::optional<ExitStatus> exit;
  uint64_t end = 0;  // the journal's position after the batch
};

namespace {

constexpr size_t kMostWarnings = 100;

Result<json::object> document_of(const journal::Record& record) {
  return parse_json_object(record.payload, "a journal record");
}

std::string words_for_gap(const json::object& mark) {
  std::string stream;
  std::string why;
  uint64_t dropped = 0;
  JsonFields fields(mark, "a mark");
  fields.optional("stream", stream);
  fields.optional("why", why);
  fields.optional("dropped_bytes", dropped);
  return fmt::format("{}: {} bytes were not kept ({})", stream, dropped, why);
}

}  // namespace

Status Attempts::take_phase(const json::object& document, Timestamp time, Batch& batch) {
  std::string phase;
  std::string kind;
  std::string detail;
  JsonFields fields(document, "a phase record");
  fields.required("phase", phase);
  fields.optional("kind", kind);
  fields.optional("detail", detail);
  fields.optional("report", batch.environment);
  SLIPWAY_TRY(fields.finish_lenient());
  batch.prepared = batch.prepared || phase == "starting";
  batch.started = batch.started || phase == "running";
  if (phase == "rank-failed")
    batch.ending = {.kind = EventKind::kRankFailed, .reason = detail, .outcome = {}};
  if (phase == "leader-done")
    batch.ending = {.kind = EventKind::kLeaderDone, .reason = detail, .outcome = {}};
  RunEvent event{
      .seq = 0, .time = time, .kind = kind, .state = RunState::kPreparing, .attempt = 0, .reason = detail};
  if (phase == "preparing") {
    batch.notes.push_back(std::move(event));
  } else if (phase == kRankExited) {
    event.kind = kRankExited;
    batch.exits.push_back(std::move(event));
  }
  return {};
}

// An event of the time line that leaves the state as it is.
Status Attempts::store_note(store::Writer& writer, const Run& run, const Part& part, RunEvent note) {
  note.state = run.state;
  note.attempt = part.key.attempt;
  const bool names_rank = note.kind == kRankExited;
  if (part.key.rank > 0 && !names_rank) note.reason = fmt::format("rank {}: {}", part.key.rank, note.reason);
  return store_transition(writer, run, note);
}

// Values that this server cannot read, from a newer supervisor, do not hold up what comes after them.
void Attempts::take_values(const journal::Record& record, Batch& batch) {
  auto values = journal::parse_values(record.payload);
  if (values)
    std::ranges::move(*values, std::back_inserter(batch.entries));
  else
    batch.warnings.push_back("logged values were not kept: " + values.error().message);
}

// A property that is set already is kept as it is; the run's warnings say so.
Status Attempts::store_properties(store::Writer& writer, const Run& run, Batch& batch) {
  for (const auto& [key, value] : batch.properties) {
    const Status added = add_properties(writer, run, {{key, value}});
    if (!added && added.error().code != ErrorCode::kConflict) return added;
    if (!added) batch.warnings.push_back(added.error().message);
  }
  return {};
}

Result<Attempts::Batch> Attempts::parse(std::string_view bytes, uint64_t offset, uint64_t stored) const {
  Batch batch;
  batch.end = offset;
  while (!bytes.empty()) {
    SLIPWAY_ASSIGN(const auto parsed, journal::parse_record(bytes));
    if (!parsed) return fail(ErrorCode::kInvalidArgument, "the journal's bytes end within a record");
    bytes.remove_prefix(parsed->size);
    batch.end += parsed->size;
    if (batch.end <= stored) continue;  // known already
    const journal::Record& record = parsed->record;
    switch (record.kind) {
      case journal::Kind::kLog: {
        SLIPWAY_ASSIGN(auto chunk, journal::parse_log(record.payload));
        batch.logs.push_back(std::move(chunk));
        break;
      }
      case journal::Kind::kMetrics: {
        SLIPWAY_ASSIGN(auto points, journal::parse_metrics(record.payload));
        std::ranges::move(points, std::back_inserter(batch.entries));
        break;
      }
      case journal::Kind::kValues: {
        take_values(record, batch);
        break;
      }
      case journal::Kind::kProperties: {
        SLIPWAY_ASSIGN(const json::object document, document_of(record));
        for (const auto& field : document)
          if (field.value().is_string())
            batch.properties.emplace_back(field.key(), field.value().get_string());
        break;
      }
      case journal::Kind::kPhase: {
        SLIPWAY_ASSIGN(const json::object document, document_of(record));
        SLIPWAY_TRY(take_phase(document, record.time, batch));
        break;
      }
      case journal::Kind::kSample: {
        batch.samples.emplace_back(record.time, record.payload);
        break;
      }
      case journal::Kind::kTags: {
        SLIPWAY_ASSIGN(const json::object document, document_of(record));
        for (const auto& field : document)
          if (field.value().is_string())
            batch.tags[std::string(field.key())] = std::string(field.value().get_string());
        break;
      }
      case journal::Kind::kMark: {
        SLIPWAY_ASSIGN(const json::object document, document_of(record));
        batch.warnings.push_back(words_for_gap(document));
        break;
      }
      case journal::Kind::kExit: {
        SLIPWAY_ASSIGN(const json::object document, document_of(record));
        SLIPWAY_ASSIGN(batch.exit, exit_status_from_json(document));
        break;
      }
      case journal::Kind::kFile: break;  // for the agent, which uploads it
    }
  }
  return batch;
}

Result<uint64_t> Attempts::take_journal(const NodeId& node, const AttemptKey& key, uint64_t offset,
                                        std::string_view bytes) {
  SLIPWAY_ASSIGN(const uint64_t stored, journal_offset(node, key));
  if (offset > stored)
    return fail(ErrorCode::kConflict, fmt::format("the journal is stored up to {}", stored),
                "send from there");
  Result<Batch> parsed = parse(bytes, offset, stored);
  if (!parsed) {
    // Damage in what a node sends is the sender's, not this server's.
    Error error = std::move(parsed).error();
    if (error.code == ErrorCode::kInternal) error.code = ErrorCode::kInvalidArgument;
    return fail(std::move(error));
  }
  Batch& batch = *parsed;
  if (batch.end <= stored) return stored;
  SLIPWAY_TRY(logs_.append(key, batch.logs));
  SLIPWAY_FAILPOINT("journal.after_logs");

  uint64_t now_stored = batch.end;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const Part part, load_open_part(writer, node, key));
    if (part.journal_offset != stored) {  // a repetition of this batch was quicker
      now_stored = part.journal_offset;
      return {};
    }
    return store_batch(writer, part, batch);
  }));
  return now_stored;
}

Status Attempts::store_batch(store::Writer& writer, const Part& before, Batch& batch) {
  Part part = before;
  part.journal_offset = batch.end;
  if (batch.started && part.state != PartState::kExited) part.state = PartState::kStarted;
  SLIPWAY_ASSIGN(Run run, load_run(writer, part.key.run));
  const Transitions& transitions = orchestrator_.transitions();
  const auto apply = [&](EventKind kind) -> Status {
    auto verdict = transitions.apply(writer, run, {.kind = kind, .reason = "", .outcome = {}});
    if (!verdict) return fail(std::move(verdict).error());
    return {};
  };
  // Whoever sends its journal is alive.
  if (run.state == RunState::kNotResponding) SLIPWAY_TRY(apply(EventKind::kHeardAgain));
  for (RunEvent& note : batch.notes) SLIPWAY_TRY(store_note(writer, run, part, std::move(note)));
  if (!batch.environment.empty())
    SLIPWAY_TRY(take_environment_report(writer, run, part.key.rank, batch.environment));
  if (batch.prepared) SLIPWAY_TRY(apply(EventKind::kPrepared));
  if (batch.started) SLIPWAY_TRY(apply(EventKind::kStarted));
  for (RunEvent& exit : batch.exits) SLIPWAY_TRY(store_note(writer, run, part, std::move(exit)));
  if (batch.ending && !part.cancel) {
    auto verdict = transitions.apply(writer, run, *batch.ending);
    if (!verdict) return fail(std::move(verdict).error());
    part.cancel.emplace();  // as the transition has it in the store
  }
  if (!batch.entries.empty()) {
    SLIPWAY_ASSIGN(const size_t left_out, append_entries(metrics_, writer, run.id, batch.entries));
    if (left_out > 0)
      batch.warnings.push_back(fmt::format("{} metrics with unusable names were not kept", left_out));
  }
  for (const auto& [time, sample] : batch.samples)
    SLIPWAY_TRY(metrics_.append_sample(writer, run.id, part.key.rank, time, sample));
  if (!batch.tags.empty()) SLIPWAY_TRY(set_tags(writer, run, batch.tags));
  SLIPWAY_TRY(store_properties(writer, run, batch));
  if (!batch.warnings.empty()) {
    for (std::string& warning : batch.warnings)
      if (run.warnings.size() < kMostWarnings) run.warnings.push_back(std::move(warning));
    SLIPWAY_TRY(store_warnings(writer, run));
  }
  if (batch.exit) return take_exit(writer, run, part, *batch.exit);
  // Log followers wait for the run's topic; transitions notify it by themselves.
  writer.after_commit([this, topic = run_topic(run.id)] { orchestrator_.notify(topic); });
  return update_part(writer, part);
}

Status Attempts::take_exit(store::Writer& writer, Run& run, Part& part, const ExitStatus& exit) {
  part.exit = exit;
  part.state = PartState::kExited;
  SLIPWAY_TRY(update_part(writer, part));
  SLIPWAY_ASSIGN(const auto parts, parts_of_attempt(writer, run.id, run.attempt));
  const bool all = std::all_of(parts.begin(), parts.end(), [](const Part& p) { return p.exit.has_value(); });
  Event event{
      .kind = all ? EventKind::kExited : EventKind::kRankFailed, .reason = exit.reason, .outcome = {}};
  const bool leader_done = part.key.rank == 0 && exit.good() && ends_with_first_node(run.job);
  // When all have been told to end, the end of one says nothing new.
  if (!all && (part.cancel || (exit.good() && !leader_done))) return {};
  if (event.reason.empty()) event.reason = fmt::format("exit code {}", exit.code);
  // Of several processes the reason names the rank that failed; else the node's is all there is to say.
  if (!all && !event.reason.starts_with("rank "))
    event.reason = fmt::format("node {}: {}", part.key.rank, event.reason);
  if (!all && leader_done)
    event = {.kind = EventKind::kLeaderDone,
             .reason = "rank 0 has ended well; the others are ended",
             .outcome = {}};
  auto verdict = orchestrator_.transitions().apply(writer, run, event);
  if (!verdict) return fail(std::move(verdict).error());
  return {};
}

}  // namespace slipway::runs
