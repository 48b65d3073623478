#include "node/agent_preparation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/log.h"
#include "base/utf8.h"
#include "journal/reader.h"
#include "journal/segments.h"
#include "journal/writer.h"

namespace slipway::node {
namespace {

constexpr std::string_view kPreparing = "preparing";
constexpr std::string_view kStreams = "system_logs/";
constexpr size_t kLongestLine = 64 << 10;
// Lines of a build come in bursts: what comes within this time goes in one request.
constexpr Duration kGather = std::chrono::milliseconds(20);
constexpr size_t kScanned = 1 << 20;

bool is_note(const journal::Record& record) {
  const auto phase = parse_json_object(record.payload, "a phase record");
  if (!phase) return false;
  const json::value* name = phase->if_contains("phase");
  return name != nullptr && name->is_string() && name->get_string() == kPreparing;
}

// True: the record belongs to the preparation.
bool take(const journal::Record& record, PreparationInJournal& found) {
  switch (record.kind) {
    case journal::Kind::kPhase: return is_note(record);
    case journal::Kind::kMark: return true;
    case journal::Kind::kLog: {
      const auto chunk = journal::parse_log(record.payload);
      if (!chunk || !chunk->name.starts_with(kStreams)) return false;
      found.offsets[chunk->name] = chunk->offset + chunk->bytes.size();
      return true;
    }
    default: return false;
  }
}

}  // namespace

Result<PreparationInJournal> preparation_in_journal(const std::filesystem::path& journal) {
  PreparationInJournal found;
  SLIPWAY_ASSIGN(const std::vector<journal::Segment> segments, journal::list_segments(journal));
  // Only a job's output is so much that its beginning is removed.
  if (!segments.empty() && segments.front().start > 0) found.begun = true;
  journal::Reader reader(journal);
  while (!found.begun) {
    SLIPWAY_ASSIGN(const journal::Reader::Chunk chunk, reader.read(kScanned));
    if (chunk.bytes.empty()) return found;
    found.empty = false;
    for (std::string_view rest = chunk.bytes; !rest.empty() && !found.begun;) {
      SLIPWAY_ASSIGN(const auto parsed, journal::parse_record(rest));
      if (!parsed) break;
      found.begun = !take(parsed->record, found);
      rest.remove_prefix(parsed->size);
    }
  }
  found.empty = false;
  return found;
}

PreparationLog::PreparationLog(std::filesystem::path folder, JournalShipper& shipper, AttemptSignals& signals)
    : folder_(std::move(folder)), shipper_(shipper), signals_(signals) {}

PreparationLog::~PreparationLog() {
  close();
}

void PreparationLog::line(std::string_view stream, std::string_view text) {
  const std::string bytes = fmt::format("{}\n", text.substr(0, kLongestLine));
  const std::lock_guard lock(mutex_);
  if (!open()) return;
  feed_->log(std::string(stream), journal::Channel::kNone, bytes);
  flush();
}

void PreparationLog::note(std::string_view kind, std::string_view sentence, json::object report) {
  const std::string_view text = sentence.substr(0, kLongestLine);
  json::object record{
      {"phase", kPreparing}, {"kind", kind}, {"detail", text.substr(0, valid_utf8_prefix(text))}};
  if (!report.empty()) record.emplace("report", std::move(report));
  const std::lock_guard lock(mutex_);
  if (!open()) return;
  feed_->record(journal::Kind::kPhase, json::serialize(record));
  flush();
}

bool PreparationLog::open() {
  if (closed_) return false;
  if (std::exchange(tried_, true)) return feed_.has_value();
  const auto start = [this]() -> Status {
    SLIPWAY_ASSIGN(lock_, FileLock::try_take(folder_ / "lock"));
    if (!lock_) return fail(ErrorCode::kConflict, "a supervisor has the attempt already");
    SLIPWAY_ASSIGN(const PreparationInJournal found, preparation_in_journal(folder_ / "journal"));
    SLIPWAY_ASSIGN(journal::Writer writer, journal::Writer::open(folder_ / "journal"));
    if (found.begun) return fail(ErrorCode::kConflict, "the attempt has begun already");
    feed_.emplace(std::move(writer), folder_, kQuota, clock_);
    for (const auto& [stream, offset] : found.offsets) feed_->go_on(stream, offset);
    return {};
  };
  if (const Status started = start(); !started) {
    log_warning("attempt.no_preparation_log", {{"folder", folder_.string()}, {"error", started.error()}});
    lock_.reset();
    return false;
  }
  shipping_ = std::thread([this] { ship(); });
  return true;
}

void PreparationLog::flush() {
  feed_->flush();
  unshipped_ = true;
  changed_.notify_all();
}

// The server's absence stops nothing: what it has not got is shipped by whoever follows the attempt later.
void PreparationLog::ship() {
  Backoff backoff;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closed_ || unshipped_; });
    if (!closed_) changed_.wait_for(lock, kGather, [this] { return closed_; });
    if (closed_) return;
    unshipped_ = false;
    lock.unlock();
    const auto sent = shipper_.ship();
    if (!sent && verdict(sent.error()) == Verdict::kStale) signals_.fence();
    lock.lock();
    if (sent) {
      backoff.reset();
      unshipped_ = unshipped_ || *sent > 0;  // there may be more than went into one batch
    } else if (verdict(sent.error()) == Verdict::kRepeat) {
      unshipped_ = true;
      changed_.wait_for(lock, backoff.next(), [this] { return closed_; });
    }
  }
}

void PreparationLog::close() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    changed_.notify_all();
  }
  if (shipping_.joinable()) shipping_.join();
  feed_.reset();
  // The next holder writes itself into the file a moment after it has the lock: until then it names nobody.
  if (lock_) {
    (void)!::ftruncate(lock_->fd(), 0);
    // Said, and not only closed: a program that another thread is starting has a copy until it executes.
    struct flock all{};
    all.l_type = F_UNLCK;
    all.l_whence = SEEK_SET;
    ::fcntl(lock_->fd(), F_OFD_SETLK, &all);
  }
  lock_.reset();
}

void PreparationLog::deliver() {
  if (!tried_) return;
  const Status delivered = signals_.insist([this]() -> Status {
    while (true) {
      SLIPWAY_ASSIGN(const size_t sent, shipper_.ship());
      if (sent == 0) return {};
    }
  });
  if (!delivered)
    log_warning("attempt.preparation_log_kept", {{"folder", folder_.string()}, {"error", delivered.error()}});
}

}  // namespace slipway::node
