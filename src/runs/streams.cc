#include "runs/streams.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/base64.h"
#include "base/utf8.h"
#include "runs/attempt_table.h"
#include "runs/metric_json.h"
#include "runs/run_table.h"
#include "runs/transitions.h"

namespace slipway::runs {
namespace {

constexpr int64_t kRowsAtOnce = 1000;
constexpr uint64_t kLogBytesAtOnce = 256 << 10;

// True when the run has ended or is gone. Asked before the data is read, so that what came before the end is
// sent.
Result<bool> has_ended(store::Reader& reader, const RunId& id) {
  bool ended = true;
  SLIPWAY_TRY(reader.query("SELECT state FROM runs WHERE id = ?", {id}, [&](const store::Row& row) {
    const auto state = run_state_from_text(row.text(0));
    ended = state && is_final(*state);
  }));
  return ended;
}

// A log of the preparation is whole once the part has begun, ended or been given up.
Result<bool> preparation_has_ended(store::Reader& reader, const AttemptKey& key) {
  bool ended = false;  // without a row the attempt is still to come
  SLIPWAY_TRY(reader.query("SELECT state FROM attempt_nodes WHERE run = ? AND attempt = ? AND rank = ?",
                           {key.run, key.attempt, key.rank}, [&](const store::Row& row) {
                             ended = row.text(0) != to_text(PartState::kOrdered) &&
                                     row.text(0) != to_text(PartState::kClaimed);
                           }));
  return ended;
}

class RunEventStream final : public http::EventSource {
 public:
  RunEventStream(store::Database& database, const Run& run, int64_t after)
      : database_(database), id_(run.id), seq_(run.seq), after_(after) {}

  Result<std::vector<http::Event>> next() override {
    std::vector<RunEvent> events;
    bool ended = false;
    SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(ended, has_ended(reader, id_));
      SLIPWAY_ASSIGN(events, list_events(reader, seq_, after_, kRowsAtOnce));
      return {};
    }));
    std::vector<http::Event> out;
    for (const RunEvent& event : events) {
      after_ = event.seq;
      out.push_back(
          {.id = std::to_string(event.seq), .name = "state", .data = json::serialize(to_json(event))});
    }
    ended_ = ended && out.empty();
    return out;
  }
  bool ended() const override { return ended_; }
  std::vector<std::string> topics() const override { return {run_topic(id_)}; }

 private:
  store::Database& database_;
  const RunId id_;
  const int64_t seq_;
  int64_t after_;
  bool ended_ = false;
};

class LogStream final : public http::EventSource {
 public:
  LogStream(store::Database& database, const LogStore& logs, AttemptKey attempt, std::string name,
            uint64_t offset)
      : database_(database),
        logs_(logs),
        attempt_(std::move(attempt)),
        name_(std::move(name)),
        offset_(offset) {}

  Result<std::vector<http::Event>> next() override {
    bool ended = false;
    SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(ended, has_ended(reader, attempt_.run));
      if (!ended && name_.starts_with("system_logs/")) {
        SLIPWAY_ASSIGN(ended, preparation_has_ended(reader, attempt_));
      }
      return {};
    }));
    std::vector<http::Event> out;
    uint64_t size = 0;
    const auto fd = logs_.open(attempt_, name_, &size);
    if (fd && size > offset_) {
      const uint64_t length = std::min(size - offset_, kLogBytesAtOnce);
      std::string bytes(length, '\0');
      const ssize_t got = ::pread(fd->get(), bytes.data(), length, static_cast<off_t>(offset_));
      if (got < 0) return fail(errno_error(errno, "read a log"));
      bytes.resize(static_cast<size_t>(got));
      SLIPWAY_ASSIGN(const auto stretches, logs_.stretches(attempt_, name_, offset_, bytes.size()));
      for (const LogStretch& stretch : stretches)
        add_pieces(out, std::string_view(bytes).substr(stretch.offset - offset_, stretch.length), stretch);
      offset_ += bytes.size();
    }
    ended_ = ended && out.empty();
    return out;
  }
  bool ended() const override { return ended_; }
  std::vector<std::string> topics() const override { return {run_topic(attempt_.run)}; }

 private:
  static std::string_view channel_name(journal::Channel channel) {
    switch (channel) {
      case journal::Channel::kStdout: return "stdout";
      case journal::Channel::kStderr: return "stderr";
      case journal::Channel::kNone: return "file";
    }
    return "file";
  }

  // Text goes as text and the rest as base64; a character cut by the end of what is there counts as the rest.
  static void add_pieces(std::vector<http::Event>& out, std::string_view bytes, const LogStretch& stretch) {
    uint64_t offset = stretch.offset;
    while (!bytes.empty()) {
      const size_t text = valid_utf8_prefix(bytes);
      const size_t taken = text > 0 ? text : bytes.size();
      json::object data{{"offset", offset}, {"channel", channel_name(stretch.channel)}};
      if (text > 0) {
        data.emplace("text", bytes.substr(0, taken));
      } else {
        data.emplace("base64", to_base64(bytes));
      }
      offset += taken;
      out.push_back({.id = std::to_string(offset), .name = "log", .data = json::serialize(data)});
      bytes.remove_prefix(taken);
    }
  }

  store::Database& database_;
  const LogStore& logs_;
  const AttemptKey attempt_;
  const std::string name_;
  uint64_t offset_;
  bool ended_ = false;
};

class MetricStream final : public http::EventSource {
 public:
  MetricStream(store::Database& database, metrics::MetricStore& metrics, RunId run, int64_t after)
      : database_(database), metrics_(metrics), run_(std::move(run)), after_(after) {}

  Result<std::vector<http::Event>> next() override {
    bool ended = false;
    SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(ended, has_ended(reader, run_));
      return {};
    }));
    SLIPWAY_ASSIGN(const auto points, metrics_.points_after(run_, after_, kRowsAtOnce));
    std::vector<http::Event> out;
    for (const metrics::StoredPoint& point : points) {
      after_ = point.position;
      out.push_back(
          {.id = std::to_string(point.position), .name = "metric", .data = json::serialize(to_json(point))});
    }
    ended_ = ended && out.empty();
    return out;
  }
  bool ended() const override { return ended_; }
  std::vector<std::string> topics() const override { return {run_topic(run_)}; }

 private:
  store::Database& database_;
  metrics::MetricStore& metrics_;
  const RunId run_;
  int64_t after_;
  bool ended_ = false;
};

class OrderStream final : public http::EventSource {
 public:
  OrderStream(store::Database& database, const compute::NodeRegistry& nodes, NodeId node)
      : database_(database), nodes_(nodes), node_(std::move(node)) {}

  Result<std::vector<http::Event>> next() override {
    std::vector<Part> parts;
    std::vector<AttemptKey> fenced;
    SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(parts, open_parts_of_node(reader, node_));
      SLIPWAY_ASSIGN(fenced, fenced_since(reader, parts));
      return {};
    }));
    std::vector<http::Event> out;
    std::set<AttemptKey> open;
    out.reserve(fenced.size());
    for (const AttemptKey& key : fenced) out.push_back(order("fence", to_json(key)));
    for (const Part& part : parts) {
      open.insert(part.key);
      // One that was claimed and never started, because the agent died, is claimed again by the next agent;
      // one that holds it already ignores the order.
      const bool unstarted = part.state == PartState::kOrdered || part.state == PartState::kClaimed;
      if (unstarted && started_.insert(part.key).second) out.push_back(order("start", to_json(part.key)));
      if (part.gathered && gathered_.insert(part.key).second)
        out.push_back(order("gathered", to_json(part.key)));
      if (part.cancel && canceled_.insert(part.key).second) {
        json::object data = to_json(part.key);
        data.emplace("reason", part.cancel->reason);
        data.emplace("grace_seconds", static_cast<double>(part.cancel->grace.count()) / 1e6);
        out.push_back(order("cancel", data));
      }
    }
    // What is over needs no memory: its key never comes again.
    std::erase_if(started_, [&](const AttemptKey& key) { return !open.contains(key); });
    std::erase_if(gathered_, [&](const AttemptKey& key) { return !open.contains(key); });
    std::erase_if(canceled_, [&](const AttemptKey& key) { return !open.contains(key); });
    known_ = std::move(open);
    const auto info = nodes_.find(node_);
    if (!info) {
      ended_ = true;
    } else if (info->state == compute::NodeState::kDraining && !std::exchange(drained_, true)) {
      out.push_back(order("drain", {}));
    }
    return out;
  }
  bool ended() const override { return ended_; }
  std::vector<std::string> topics() const override { return {node_topic(node_)}; }

 private:
  http::Event order(std::string name, const json::object& data) {
    return {.id = std::to_string(++count_), .name = std::move(name), .data = json::serialize(data)};
  }

  // Those that were open when the stream looked last, and have been given up meanwhile. What ended as it
  // should the agent knows already; what was given up while no stream was open its heartbeat tells.
  Result<std::vector<AttemptKey>> fenced_since(store::Reader& reader, const std::vector<Part>& open) const {
    std::vector<AttemptKey> fenced;
    for (const AttemptKey& key : known_) {
      if (std::ranges::find(open, key, &Part::key) != open.end()) continue;
      SLIPWAY_ASSIGN(const bool is_fenced, has_been_fenced(reader, key));
      if (is_fenced) fenced.push_back(key);
    }
    return fenced;
  }

  store::Database& database_;
  const compute::NodeRegistry& nodes_;
  const NodeId node_;
  std::set<AttemptKey> known_;
  std::set<AttemptKey> started_;
  std::set<AttemptKey> gathered_;
  std::set<AttemptKey> canceled_;
  bool drained_ = false;
  bool ended_ = false;
  uint64_t count_ = 0;
};

}  // namespace

std::shared_ptr<http::EventSource> run_event_stream(store::Database& database, const Run& run,
                                                    int64_t after) {
  return std::make_shared<RunEventStream>(database, run, after);
}

std::shared_ptr<http::EventSource> log_stream(store::Database& database, const LogStore& logs,
                                              const AttemptKey& attempt, std::string name, uint64_t offset) {
  return std::make_shared<LogStream>(database, logs, attempt, std::move(name), offset);
}

std::shared_ptr<http::EventSource> metric_stream(store::Database& database, metrics::MetricStore& metrics,
                                                 const RunId& run, int64_t after) {
  return std::make_shared<MetricStream>(database, metrics, run, after);
}

std::shared_ptr<http::EventSource> order_stream(store::Database& database, const compute::NodeRegistry& nodes,
                                                const NodeId& node) {
  return std::make_shared<OrderStream>(database, nodes, node);
}

}  // namespace slipway::runs
