#include "node/agent_shipping.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "journal/record.h"
#include "journal/segments.h"
#include "journal/writer.h"

namespace slipway::node {
namespace {

// A short life costs a small buffer; under load batches grow until what the server pays for each of them,
// above all making it durable, is small beside the bytes. The server takes up to 32 MiB.
constexpr size_t kSmallBatch = 64 << 10;
constexpr size_t kLargeBatch = 16 << 20;

// The files that records in `chunk` ask for. The reader has checked the records; each is looked at once more
// only when there is such a record at all.
std::vector<std::string> asked_files(std::string_view chunk) {
  std::vector<std::string> files;
  while (!chunk.empty()) {
    if (chunk.size() < journal::kHeaderSize) break;
    const auto byte = [&](size_t at) { return static_cast<uint32_t>(static_cast<unsigned char>(chunk[at])); };
    const size_t size = journal::kHeaderSize + (byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24);
    if (static_cast<journal::Kind>(byte(4)) == journal::Kind::kFile) {
      const auto request =
          parse_json_object(chunk.substr(journal::kHeaderSize, size - journal::kHeaderSize), "a file");
      if (request) {
        if (const json::value* path = request->if_contains("path"); path != nullptr && path->is_string())
          files.emplace_back(path->get_string());
      }
    }
    chunk.remove_prefix(std::min(size, chunk.size()));
  }
  return files;
}

Result<uint64_t> read_acked(const http::ClientResponse& answer) {
  if (answer.status >= 400) return fail(error_from_json(answer.body, answer.status));
  SLIPWAY_ASSIGN(const json::object document,
                 parse_json_object(answer.body, "the server's answer to a journal"));
  uint64_t acked = 0;
  JsonFields fields(document, "the server's answer to a journal");
  fields.required("acked", acked);
  if (Status read = fields.finish_lenient(); !read) return fail(ErrorCode::kInternal, read.error().message);
  return acked;
}

}  // namespace

JournalShipper::JournalShipper(ServerLink& server, AttemptKey key, const std::filesystem::path& folder,
                               OnFiles on_files)
    : server_(server),
      key_(std::move(key)),
      journal_(folder / "journal"),
      on_files_(std::move(on_files)),
      reader_(journal_),
      batch_bytes_(kSmallBatch) {}

// What the reader cannot read will not become readable by waiting.
Result<journal::Reader::Chunk> JournalShipper::read() {
  auto chunk = reader_.read(batch_bytes_);
  if (!chunk) return fail(ErrorCode::kInvalidArgument, chunk.error().message);
  return chunk;
}

Result<uint64_t> JournalShipper::post(uint64_t offset, std::string_view records) {
  http::Call call;
  call.method = http::Method::kPost;
  call.target = server_.attempt_target(key_, fmt::format("journal?offset={}", offset));
  call.content_type = "application/octet-stream";
  // Handed over in place: a batch is not copied.
  call.source = [rest = records]() mutable -> Result<std::string_view> {
    return std::exchange(rest, std::string_view());
  };
  call.source_length = records.size();
  SLIPWAY_ASSIGN(const http::ClientResponse answer, server_.send(std::move(call)));
  auto acked = read_acked(answer);
  // The server has less than was thought: it says how much when asked.
  if (!acked && acked.error().code == ErrorCode::kConflict) return ask();
  return acked;
}

Result<uint64_t> JournalShipper::ask() {
  http::Call call;
  call.target = server_.attempt_target(key_, "journal");
  SLIPWAY_ASSIGN(const http::ClientResponse answer, server_.send(std::move(call)));
  return read_acked(answer);
}

Result<size_t> JournalShipper::ship() {
  SLIPWAY_ASSIGN(const journal::Reader::Chunk chunk, read());
  if (chunk.bytes.empty()) return 0;
  if (const std::vector<std::string> files = asked_files(chunk.bytes); !files.empty()) on_files_(files);
  const size_t size = chunk.bytes.size();
  auto acked = post(chunk.position, chunk.bytes);
  if (!acked) {
    reader_.seek(chunk.position);
    return fail(std::move(acked).error());
  }
  if (size >= batch_bytes_ / 2) batch_bytes_ = std::min(batch_bytes_ * 4, kLargeBatch);
  if (*acked == chunk.position + size) {
    acknowledged_ = *acked;
    ended_ = chunk.has_exit;
  } else {
    SLIPWAY_TRY(go_on_from(*acked));
  }
  remove_acknowledged();
  return size;
}

Status JournalShipper::resume() {
  SLIPWAY_ASSIGN(const uint64_t acked, ask());
  SLIPWAY_ASSIGN(const std::vector<journal::Segment> segments, journal::list_segments(journal_));
  reader_.seek(segments.empty() ? 0 : segments.front().start);
  return go_on_from(acked);
}

// Reads up to `acknowledged` without sending, so as to know whether the exit record lies before it.
Status JournalShipper::go_on_from(uint64_t acknowledged) {
  if (acknowledged < reader_.position()) {
    SLIPWAY_ASSIGN(const std::vector<journal::Segment> segments, journal::list_segments(journal_));
    if (!segments.empty() && acknowledged < segments.front().start)
      return fail(
          ErrorCode::kInternal,
          fmt::format("the server has {} bytes of the journal of {} and this node only those from {} on",
                      acknowledged, to_text(key_), segments.front().start));
    reader_.seek(acknowledged);
  }
  bool has_exit = false;
  while (reader_.position() < acknowledged) {
    SLIPWAY_ASSIGN(const journal::Reader::Chunk chunk, read());
    if (chunk.bytes.empty()) break;
    has_exit = chunk.has_exit;
  }
  if (reader_.position() != acknowledged)
    reader_.seek(acknowledged);
  else
    ended_ = has_exit;
  acknowledged_ = acknowledged;
  return {};
}

void JournalShipper::remove_acknowledged() {
  if (acknowledged_ < removed_up_to_ + journal::Writer::kSegmentBytes) return;
  removed_up_to_ = acknowledged_;
  if (Status removed = journal::remove_segments_before(journal_, acknowledged_); !removed)
    log_warning("agent.segments_kept", {{"attempt", to_text(key_)}, {"error", removed.error()}});
}

void JournalShipper::shrink() {
  if (batch_bytes_ == kSmallBatch) return;
  batch_bytes_ = kSmallBatch;
  reader_ = journal::Reader(journal_, reader_.position());
}

}  // namespace slipway::node
