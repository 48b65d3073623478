#include "services/replica_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "protocol/model.h"
#include "runs/attempt_table.h"
#include "runs/run_table.h"
#include "services/service_table.h"
#include "store/idempotency.h"

namespace slipway::services {
namespace {

constexpr const char* kNumberTag = "replica";
constexpr const char* kKeyVariable = "SERVICE_REPLICA_KEY";
constexpr std::chrono::seconds kGrace{40};  // more than `slipway serve` gives its requests to end
constexpr size_t kLogTail = 4096;
constexpr size_t kLogLines = 15;

std::string_view last_lines(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  size_t from = text.size();
  for (size_t lines = 0; lines < kLogLines && from > 0; ++lines) {
    const size_t before = text.rfind('\n', from - 1);
    if (before == std::string_view::npos) return text;
    from = before;
  }
  return text.substr(from + 1);
}

// Empty when there is none.
std::string log_tail(const runs::LogStore& logs, const runs::Run& run) {
  uint64_t size = 0;
  const auto file =
      logs.open({.run = run.id, .attempt = std::max(run.attempt, 1), .rank = 0}, "std_log.txt", &size);
  if (!file || size == 0) return "";
  std::string text(std::min<uint64_t>(size, kLogTail), '\0');
  const ssize_t got = ::pread(file->get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return std::string(last_lines(text));
}

// What the program said last about itself, if anything.
std::string error_line(std::string_view log) {
  constexpr std::string_view kMark = "error: ";
  const size_t at = log.rfind(kMark);
  if (at == std::string_view::npos || (at > 0 && log[at - 1] != '\n')) return "";
  const std::string_view line = log.substr(at + kMark.size());
  return std::string(line.substr(0, line.find('\n')));
}

std::string outcome_of(const runs::Run& run, std::string_view log) {
  std::string how = run.reason;
  if (how.empty() && run.exit_code) how = fmt::format("exit code {}", *run.exit_code);
  if (how.empty()) how = runs::to_text(run.state);
  const std::string said = error_line(log);
  return said.empty() ? how : fmt::format("{} ({})", said, how);
}

store::RequestKey request_key_of(const Service& service, const Replica& replica) {
  std::string key = fmt::format("service-replica-{}", replica.number);
  const Digest body = Digest::of(key);
  return {.scope = service.workspace.str(), .key = std::move(key), .body = body};
}

// Where the front door reaches it: at the address of its node, whatever the replica says of itself but for
// the port, so that no script can lead the door elsewhere.
Result<std::string> endpoint_of(store::Reader& reader, const compute::NodeRegistry& nodes,
                                const runs::Run& run) {
  const auto property = run.properties.find("endpoint");
  if (property == run.properties.end()) return "";
  const size_t colon = property->second.rfind(':');
  if (colon == std::string::npos) return "";
  const std::string_view digits = std::string_view(property->second).substr(colon + 1);
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0) return "";
  SLIPWAY_ASSIGN(const auto parts, runs::parts_of_attempt(reader, run.id, run.attempt));
  if (parts.empty()) return "";
  const auto node = nodes.find(parts.front().node);
  if (!node || node->record.address.empty()) return "";
  return fmt::format("{}:{}", node->record.address, port);
}

}  // namespace

Job replica_job(const Service& service, const ReplicaSpec& spec) {
  Job job;
  job.experiment = ExperimentName(service.name);
  job.compute = spec.compute;
  if (!spec.environment.empty()) job.environment = spec.environment;
  job.snapshot = spec.snapshot;
  job.models = spec.models;
  job.resources = spec.resources;
  job.variables = spec.variables;
  job.max_attempts = 1;  // another replica takes its place
  job.grace = kGrace;
  job.tags = {{"service", service.name}};
  job.command = {"slipway", "serve"};
  if (spec.entry.empty() && spec.models.size() == 1)
    if (const auto model = parse_model_reference(spec.models.front()))
      job.command.push_back(fmt::format("${{models.{}}}", model->name));
  job.command.insert(job.command.end(), {"--report-endpoint", "--key-env", kKeyVariable});
  job.command.insert(
      job.command.end(),
      {"--timeout",
       fmt::format("{}ms", std::chrono::duration_cast<std::chrono::milliseconds>(spec.timeout).count())});
  if (!spec.models.empty())
    if (const auto model = parse_model_reference(spec.models.front()); model && model->version > 0)
      job.command.insert(job.command.end(),
                         {"--name", model->name, "--model-version", std::to_string(model->version)});
  if (!spec.entry.empty()) job.command.insert(job.command.end(), {"--entry", spec.entry});
  if (spec.workers > 1) job.command.insert(job.command.end(), {"--workers", std::to_string(spec.workers)});
  return job;
}

runs::Submission replica_submission(const Service& service, const Revision& revision,
                                    const Replica& replica) {
  Job job = replica_job(service, revision.spec);
  job.display_name = fmt::format("{} version {} replica {}", service.name, revision.number, replica.number);
  job.tags[kNumberTag] = std::to_string(replica.number);
  return {.workspace = service.workspace,
          .job = std::move(job),
          .request = request_key_of(service, replica),
          .submitted_by = fmt::format("service {}", service.name),
          .rerun_of = std::nullopt,
          .parent = std::nullopt,
          .kind = runs::RunKind::kReplica};
}

std::string key_purpose(const Service& service) {
  return fmt::format("service {} {}", service.workspace, service.name);
}

Status complete_order(store::Reader& reader, const data::Seal& seal, const runs::Run& run,
                      AttemptOrder& order) {
  if (run.kind != runs::RunKind::kReplica) return {};
  const auto text = run.job.tags.find(kNumberTag);
  const int64_t number = text == run.job.tags.end() ? 0 : std::atoll(text->second.c_str());
  SLIPWAY_ASSIGN(const auto replica, find_replica(reader, number));
  if (!replica) return fail(ErrorCode::kConflict, "the replica's service is gone");
  SLIPWAY_ASSIGN(const Service service, load_service(reader, replica->service));
  SLIPWAY_ASSIGN(const Secret key, seal.open(replica->key, key_purpose(service)));
  order.job.variables[kKeyVariable] = key.reveal();
  return {};
}

Result<ReplicaFacts> look_at(store::Reader& reader, const compute::NodeRegistry& nodes,
                             const runs::LogStore& logs, const Service& service, Replica replica) {
  ReplicaFacts facts;
  if (!replica.run) {
    // Submitted by a server that died before it could write the run down, perhaps.
    SLIPWAY_ASSIGN(const auto made, store::find_made(reader, request_key_of(service, replica)));
    if (made) replica.run = RunId(*made);
  }
  facts.replica = std::move(replica);
  if (!facts.replica.run) {
    facts.run_ended = facts.replica.state == ReplicaState::kDraining;
    facts.outcome = "it was not needed any more";
    return facts;
  }
  const auto run = runs::load_run(reader, *facts.replica.run);
  if (!run && run.error().code != ErrorCode::kNotFound) return fail(run.error());
  facts.run_ended = !run || runs::is_final(run->state);
  if (!run) {
    facts.outcome = "its run was deleted";
  } else if (facts.run_ended) {
    facts.log = log_tail(logs, *run);
    facts.outcome = outcome_of(*run, facts.log);
  } else {
    facts.silent = run->state == runs::RunState::kNotResponding;
    if (run->state == runs::RunState::kRunning) {
      SLIPWAY_ASSIGN(facts.endpoint, endpoint_of(reader, nodes, *run));
    }
  }
  return facts;
}

}  // namespace slipway::services
