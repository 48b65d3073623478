// Runs, their events and their tags in the store. Every SQL statement about these tables is in run_table.cc.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runs/run.h"
#include "store/database.h"

namespace slipway::runs {

// The run with that id in that workspace. kNotFound.
Result<Run> load_run(store::Reader& reader, const WorkspaceName& workspace, const RunId& id);
// The run with that id, whatever its workspace: for messages of nodes, whose right was checked by the
// attempt.
Result<Run> load_run(store::Reader& reader, const RunId& id);
// The id that `text` names in the workspace: itself, the only one that begins so, or "latest", which is a
// user's. kNotFound, or kInvalidArgument when several begin so.
Result<RunId> resolve_run(store::Reader& reader, const WorkspaceName& workspace, const std::string& text);

// A tag or a property that a run must have; without a value any will do.
struct WantedPair {
  std::string key;
  std::optional<std::string> value;
};

struct RunFilter {
  std::optional<ExperimentName> experiment;
  std::optional<RunState> state;
  std::optional<RunType> type;
  std::optional<RunKind> kind = RunKind::kJob;  // nullopt: all
  std::vector<WantedPair> tags;
  std::vector<WantedPair> properties;
  std::optional<RunId> parent;  // its children only
  bool recursive = false;       // and theirs
  bool without_parent = false;
  int64_t before_seq = INT64_MAX;  // newest first, so a page goes on below this one
  int64_t limit = 100;
};
Result<std::vector<Run>> list_runs(store::Reader& reader, const WorkspaceName& workspace,
                                   const RunFilter& filter);

// Sets `run.seq`; it waits from now on.
Status insert_run(store::Writer& writer, Run& run);
// Writes back all that can change and appends the event that changed it: the state and its history are never
// apart.
Status store_transition(store::Writer& writer, const Run& run, const RunEvent& event);
// Writes back the list of outputs that were not kept, and the warnings.
Status store_skipped(store::Writer& writer, const Run& run);
Status store_warnings(store::Writer& writer, const Run& run);
Status set_tags(store::Writer& writer, const Run& run, const std::map<std::string, std::string>& tags);
Status remove_tag(store::Writer& writer, const Run& run, const std::string& key);
// kConflict when one of them is there already with another value.
Status add_properties(store::Writer& writer, const Run& run,
                      const std::map<std::string, std::string>& properties);
Status set_display_name(store::Writer& writer, const Run& run, const std::string& name);
Status set_description(store::Writer& writer, const Run& run, const std::string& description);
// The run, its events and tags; files, blobs and logs are the deleter's (deletion.cc).
Status delete_run_rows(store::Writer& writer, const Run& run);

Result<std::vector<RunEvent>> list_events(store::Reader& reader, int64_t run_seq, int64_t after,
                                          int64_t limit);
// The sentences of such events in the run's present attempt, by their time; at most a hundred.
Result<std::vector<std::string>> events_of_kind(store::Reader& reader, const Run& run, std::string_view kind);

// The kind of event by which a node tells of a rank that failed and that something else had started there.
constexpr std::string_view kRankExited = "rank-exited";

// Children, theirs and so on, that have not ended; oldest first.
Result<std::vector<Run>> active_descendants(store::Reader& reader, const RunId& run);
// How many runs stand above it.
Result<int> depth_of(store::Reader& reader, const Run& run);

// Visits every run that is not final, oldest first.
Status for_each_active(store::Reader& reader, const std::function<void(const Run&)>& visit);
Result<std::map<std::string, int64_t>> count_by_state(store::Reader& reader);

}  // namespace slipway::runs
