// Which node carries which part of a run's attempt: the table that nodes are driven from.
//
// A row is the whole wish of the server about that part, so it serves as the outbox: an order that was not
// carried out is still there after a crash and is sent again. Every SQL statement about it is in
// attempt_table.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/node.h"
#include "store/database.h"

namespace slipway::runs {

enum class PartState {
  kOrdered,   // to be started
  kClaimed,   // the agent has taken the order
  kStarted,   // its process runs
  kExited,    // its process has ended; outputs are being kept
  kFinished,  // nothing is left to do
  kFenced,    // given up: messages about it are stale
};
std::string_view to_text(PartState state);

struct CancelOrder {
  std::string reason;
  Duration grace{0};
};

// One node's part of an attempt.
struct Part {
  int64_t run_seq = 0;
  AttemptKey key;
  NodeId node;
  PartState state = PartState::kOrdered;
  Resources granted;
  std::vector<int> gpu_indices;
  std::optional<CancelOrder> cancel;
  uint64_t journal_offset = 0;  // how much of its journal is stored
  std::optional<ExitStatus> exit;
  bool gathered = false;  // all nodes of the attempt have made their offers
};

bool is_open(PartState state);  // neither finished nor fenced

Status insert_part(store::Writer& writer, const Part& part, Timestamp now);
Status update_part(store::Writer& writer, const Part& part);
// The token that the part's job and agent act with; the one before is dead.
Status set_part_token(store::Writer& writer, const AttemptKey& key, const TokenId& token);

// kStale when there is no such open part on that node.
Result<Part> load_open_part(store::Reader& reader, const NodeId& node, const AttemptKey& key);
Result<std::vector<Part>> parts_of_attempt(store::Reader& reader, const RunId& run, int attempt);
Result<std::vector<Part>> open_parts_of_node(store::Reader& reader, const NodeId& node);
Result<std::vector<Part>> open_parts(store::Reader& reader);

// Marks every open part of the attempt.
Status order_cancel(store::Writer& writer, const RunId& run, int attempt, const CancelOrder& order);
Status fence_parts(store::Writer& writer, const RunId& run, int attempt);
// Also of a part whose run is gone altogether.
Result<bool> has_been_fenced(store::Reader& reader, const AttemptKey& key);

}  // namespace slipway::runs
