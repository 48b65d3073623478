// Brings one attempt's journal to the server.
//
//  1. The server stores by offset and answers how far it has got; the shipper always goes on from that
//     answer, so a batch whose answer was lost is sent again without being doubled, and nothing is
//     passed over.
//  2. Only what the server has acknowledged is removed from the disk.
//  3. The journal has ended when its exit record is acknowledged, not before.
//
// Not thread-safe: one thread follows an attempt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "journal/reader.h"
#include "node/agent_link.h"
#include "protocol/node.h"

namespace slipway::node {

class JournalShipper {
 public:
  // Told of the files that a batch asks for (kFile records) before the batch is sent: once it is acknowledged
  // nobody reads it again.
  using OnFiles = std::function<void(const std::vector<std::string>&)>;

  // `folder`: the attempt's.
  JournalShipper(ServerLink& server, AttemptKey key, const std::filesystem::path& folder, OnFiles on_files);

  // Sends one batch of what is there, and gives its size; 0: there was nothing new. An error leaves the
  // position where it was: call again later. kStale: the attempt is fenced. kInvalidArgument: the journal is
  // damaged or lacks what the server still needs, which does not get better.
  Result<size_t> ship();

  // Learns from the server how far an earlier agent has got. Call once before `ship` when re-attaching.
  Status resume();

  uint64_t acknowledged() const { return acknowledged_; }
  bool ended() const { return ended_; }  // the exit record is acknowledged
  // Returns memory that a burst has taken.
  void shrink();

 private:
  Result<journal::Reader::Chunk> read();
  Result<uint64_t> post(uint64_t offset, std::string_view records);
  Result<uint64_t> ask();
  Status go_on_from(uint64_t acknowledged);
  void remove_acknowledged();

  ServerLink& server_;
  const AttemptKey key_;
  const std::filesystem::path journal_;
  const OnFiles on_files_;
  journal::Reader reader_;
  size_t batch_bytes_;
  uint64_t acknowledged_ = 0;
  uint64_t removed_up_to_ = 0;
  bool ended_ = false;
};

}  // namespace slipway::node
