#include "models/trials.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "compute/cluster.h"
#include "models/environment.h"
#include "models/model_table.h"
#include "runs/run_table.h"

namespace slipway::models {
namespace {

constexpr std::string_view kLog = "std_log.txt";
constexpr uint64_t kLongestAnswer = 2 << 20;
constexpr Duration kTimeLimit = std::chrono::minutes(10);
constexpr uint64_t kLeastMemory = uint64_t{2} << 30;
constexpr const char* kSampleFile = "sample.json";

// A share of the node: what the model says it needs, or enough for its framework and its bytes.
Resources share_of(const ModelVersion& model, const compute::Amount& node) {
  Resources wanted = model.resources;
  wanted.cpus = std::max(wanted.cpus, 1.0);
  wanted.memory_bytes = std::max({wanted.memory_bytes, kLeastMemory, (kLeastMemory / 2) + (3 * model.bytes)});
  wanted.cpus = std::min(wanted.cpus, static_cast<double>(node.milli_cpus) / 1000);
  wanted.memory_bytes = std::min(wanted.memory_bytes, static_cast<uint64_t>(node.memory_bytes));
  wanted.gpus = std::min(wanted.gpus, node.gpus);
  return wanted;
}

// The last line that is an answer.
json::object last_answer(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find_last_not_of('\n');
    if (end == std::string_view::npos) break;
    const size_t before = text.rfind('\n', end);
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view line = text.substr(begin, end + 1 - begin);
    if (line.starts_with('{'))
      if (auto answer = parse_json_object(line, "the answer");
          answer && answer->contains("serves") && answer->at("serves").is_bool())
        return std::move(*answer);
    text = text.substr(0, begin);
  }
  return {};
}

}  // namespace

Result<Job> Trials::job_for(const ModelVersion& model) {
  Job job;
  job.experiment = ExperimentName("trial");
  job.display_name = fmt::format("trial load of {}", to_text(reference_of(model))).substr(0, 256);
  job.compute = ClusterName(std::string(compute::kLocalCluster));
  job.models = {to_text(reference_of(model))};
  job.command = {"slipway", "serve", "--trial", fmt::format("${{models.{}}}", model.name)};
  job.timeout = kTimeLimit;
  job.max_attempts = 2;
  SLIPWAY_ASSIGN(const auto cluster, orchestrator_.cluster_view({model.workspace, job.compute}));
  job.resources = share_of(model, cluster.node_size);
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(job.environment, serving_environment(reader, model));
    return {};
  }));
  if (!model.sample_input.digest.empty()) {
    SLIPWAY_ASSIGN(const Digest digest, Digest::parse(model.sample_input.digest));
    SLIPWAY_ASSIGN(
        const auto source,
        snapshot::Manifest::from_entries(
            {{.path = kSampleFile, .mode = 0644, .size = model.sample_input.size, .digest = digest}}));
    SLIPWAY_TRY(snapshots_.add(model.workspace, source));
    job.snapshot = source.id().hex();
    job.command.insert(job.command.end(), {"--sample", kSampleFile});
  }
  return job;
}

Status Trials::store(ModelVersion& model, const Trial& before) {
  return database_.write([&](store::Writer& writer) -> Status {
    auto stored = load_model(writer, model.workspace, reference_of(model));
    if (!stored) return stored.error().code == ErrorCode::kNotFound ? Status() : fail(stored.error());
    if (stored->seq != model.seq) return {};
    if (stored->trial.state == before.state && stored->trial.number == before.number &&
        stored->trial.run == before.run)
      return store_trial(writer, model);
    model.trial = std::move(stored->trial);
    return {};
  });
}

Status Trials::start(ModelVersion& model) {
  const Trial before = model.trial;
  // Whoever looks at the version meanwhile starts the same one. Keys of users hold no blank.
  const std::string key = fmt::format("trial {} {}", model.seq, before.number);
  auto job = job_for(model);
  if (job) {
    auto submitted =
        submissions_.submit({.workspace = model.workspace,
                             .job = std::move(*job),
                             .request = {.scope = model.workspace.str(), .key = key, .body = Digest::of(key)},
                             .submitted_by = model.created_by,
                             .rerun_of = std::nullopt,
                             .parent = std::nullopt,
                             .kind = runs::RunKind::kTrial});
    if (submitted) {
      model.trial.run = submitted->run.id;
      return store(model, before);
    }
    job = fail(std::move(submitted).error());
  }
  // Busy for a moment: the next look tries again. Everything else is an answer.
  if (job.error().code == ErrorCode::kUnavailable || job.error().code == ErrorCode::kExhausted) return {};
  log_warning("model.trial_not_started", {{"model", to_text(reference_of(model))}, {"error", job.error()}});
  model.trial.state = Trial::State::kDone;
  model.trial.reason = fmt::format("the trial load could not be started: {}", job.error().message);
  return store(model, before);
}

json::object Trials::answer_of(const runs::Run& run) const {
  const AttemptKey key{.run = run.id, .attempt = run.attempt, .rank = 0};
  uint64_t size = 0;
  const auto file = logs_.open(key, std::string(kLog), &size);
  if (!file) return {};
  const uint64_t from = size - std::min(size, kLongestAnswer);
  const auto stretches = logs_.stretches(key, std::string(kLog), from, size - from);
  if (!stretches) return {};
  std::string text;
  for (const runs::LogStretch& stretch : *stretches) {
    if (stretch.channel == journal::Channel::kStderr) continue;
    const size_t at = text.size();
    text.resize(at + stretch.length);
    const ssize_t count =
        ::pread(file->get(), text.data() + at, stretch.length, static_cast<off_t>(stretch.offset));
    text.resize(at + static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  return last_answer(text);
}

Status Trials::take_outcome(ModelVersion& model, const runs::Run& run) {
  const Trial before = model.trial;
  Trial& trial = model.trial;
  trial.state = Trial::State::kDone;
  trial.found = answer_of(run);
  if (!trial.found.empty()) {
    trial.serves = trial.found.at("serves").get_bool();
    const json::value* reason = trial.found.if_contains("reason");
    if (reason != nullptr && reason->is_string()) trial.reason = reason->get_string();
  } else if (run.state == runs::RunState::kFailed && run.exit_code) {
    trial.serves = false;
    trial.reason = fmt::format("the process that loaded it ended without an answer: {}", run.reason);
  } else {
    trial.reason = fmt::format("the trial load {}: {}",
                               run.state == runs::RunState::kCanceled ? "was canceled" : "did not take place",
                               run.reason);
  }
  return store(model, before);
}

Status Trials::settle(ModelVersion& model) {
  if (model.trial.state != Trial::State::kRunning) return {};
  if (!model.trial.run) return start(model);
  std::optional<runs::Run> ended;
  bool gone = false;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    auto run = runs::load_run(reader, model.workspace, *model.trial.run);
    gone = !run && run.error().code == ErrorCode::kNotFound;
    if (!run) return gone ? Status() : fail(std::move(run).error());
    if (runs::is_final(run->state)) ended = std::move(*run);
    return {};
  }));
  if (ended) return take_outcome(model, *ended);
  if (!gone) return {};
  const Trial before = model.trial;
  model.trial.state = Trial::State::kDone;
  model.trial.reason = "the run of the trial load was deleted before its answer was read";
  return store(model, before);
}

Status Trials::repeat(ModelVersion& model) {
  SLIPWAY_TRY(settle(model));
  const std::string name = to_text(reference_of(model));
  if (curated_environment_of(model.framework).empty())
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} is a custom model: nothing loads it by itself", name),
                "give it a framework: slipway model update --framework onnx, or deploy it with --entry");
  if (model.trial.state == Trial::State::kRunning) return {};
  const Trial before = model.trial;
  model.trial = {};
  model.trial.state = Trial::State::kRunning;
  model.trial.number = before.number + 1;
  SLIPWAY_TRY(store(model, before));
  return settle(model);
}

}  // namespace slipway::models
