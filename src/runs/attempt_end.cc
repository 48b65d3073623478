#include "runs/attempt_end.h"

#include <fmt/format.h>

#include <algorithm>

#include "runs/attempts.h"
#include "runs/run_outputs.h"
#include "runs/run_table.h"

namespace slipway::runs {
namespace {

// The one of several exits that says how the run ended: the first that went wrong by itself, else the first
// bad one, else rank 0's.
const ExitStatus& decisive_exit(const Job& job, const std::vector<Part>& parts) {
  // Those that were told to end because the first node was done have not failed, however they ended.
  const bool others_obeyed =
      std::ranges::all_of(parts, [](const Part& part) { return part.exit->good() || part.exit->canceled; });
  if (ends_with_first_node(job) && parts.front().exit->good() && others_obeyed) return *parts.front().exit;
  const ExitStatus* found = nullptr;
  for (const Part& part : parts) {
    const ExitStatus& exit = *part.exit;
    if (exit.good()) continue;
    const bool better = found == nullptr || (found->canceled && !exit.canceled) ||
                        (found->canceled == exit.canceled && exit.ended < found->ended);
    if (better) found = &exit;
  }
  return found != nullptr ? *found : *parts.front().exit;
}

// Of a run that was told to give way: the exit that says that it did. What its other ranks did meanwhile came
// of that. Null: all of it had ended by itself before.
const ExitStatus* stopped_exit(const std::vector<Part>& parts) {
  for (const Part& part : parts)
    if (part.exit->canceled) return &*part.exit;
  return nullptr;
}

std::string sentence_of(const ExitStatus& exit) {
  if (!exit.reason.empty()) return exit.reason;
  if (exit.signal != 0) return fmt::format("ended by signal {}", exit.signal);
  if (exit.code != 0) return fmt::format("exit code {}", exit.code);
  return "";
}

// Of mpirun's failure: what the nodes have seen of the rank behind it. Where mpirun names one, that one; else
// the first. The nodes' word comes with the last lines of the rank, wherever it was.
Result<std::string> sentence_of_mpi(store::Reader& reader, const Run& run, const ExitStatus& exit) {
  std::string told = sentence_of(exit);
  if (exit.canceled || exit.good()) return told;
  SLIPWAY_ASSIGN(const std::vector<std::string> seen, events_of_kind(reader, run, kRankExited));
  const std::string_view named = std::string_view(told).substr(0, told.find(':') + 1);
  for (const std::string& sentence : seen)
    if (sentence.starts_with(named)) return sentence;
  return seen.empty() || told.starts_with("rank ") ? told : seen.front();
}

}  // namespace

bool all_finished(const std::vector<Part>& parts) {
  return std::ranges::all_of(parts, [](const Part& part) { return part.state == PartState::kFinished; });
}

Status conclude(store::Writer& writer, const Transitions& transitions, Run& run,
                const std::vector<Part>& parts, Timestamp now) {
  const ExitStatus* const stopped = run.gives_way_to ? stopped_exit(parts) : nullptr;
  const ExitStatus& exit = stopped != nullptr ? *stopped : decisive_exit(run.job, parts);
  run.exit_code = exit.code;
  std::string sentence = sentence_of(exit);
  if (run.job.launcher.kind == LauncherKind::kMpi) {
    SLIPWAY_ASSIGN(sentence, sentence_of_mpi(writer, run, exit));
  }
  auto verdict = transitions.apply(writer, run,
                                   {.kind = EventKind::kFinished,
                                    .reason = std::move(sentence),
                                    .outcome = stopped != nullptr ? Outcome::kStopped
                                               : exit.good()      ? Outcome::kSuccess
                                                                  : Outcome::kFailure});
  if (!verdict) return fail(std::move(verdict).error());
  return run.state == RunState::kCompleted ? register_outputs(writer, run, now) : Status();
}

}  // namespace slipway::runs
