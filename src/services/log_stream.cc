#include "services/log_stream.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <map>

#include "base/utf8.h"
#include "services/controller.h"
#include "services/service_table.h"

namespace slipway::services {
namespace {

constexpr const char* kLog = "std_log.txt";
constexpr uint64_t kBytesAtOnce = 64 << 10;

Result<std::string> read_piece(const runs::LogStore& logs, const RunId& run, uint64_t from, uint64_t most,
                               uint64_t* size) {
  const auto file = logs.open({.run = run, .attempt = 1, .rank = 0}, kLog, size);
  if (!file || *size <= from) return "";
  std::string bytes(std::min(*size - from, most), '\0');
  const ssize_t got = ::pread(file->get(), bytes.data(), bytes.size(), static_cast<off_t>(from));
  if (got < 0) return fail(errno_error(errno, "read a log"));
  bytes.resize(static_cast<size_t>(got));
  return bytes;
}

class ServiceLogStream final : public http::EventSource {
 public:
  ServiceLogStream(store::Database& database, const runs::LogStore& logs, const Service& service,
                   const std::string& position)
      : database_(database), logs_(logs), service_(service.seq) {
    // "12=400,13=0": as ids were given out; what does not read so begins at the beginning.
    for (std::string_view rest = position; !rest.empty();) {
      const std::string_view pair = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
      const size_t equals = pair.find('=');
      if (equals == std::string_view::npos) continue;
      int64_t replica = 0;
      uint64_t offset = 0;
      std::from_chars(pair.data(), pair.data() + equals, replica);
      std::from_chars(pair.data() + equals + 1, pair.data() + pair.size(), offset);
      offsets_[replica] = offset;
    }
  }

  Result<std::vector<http::Event>> next() override {
    std::vector<Replica> replicas;
    bool gone = false;
    SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
      const auto service = load_service(reader, service_);
      gone = !service || service->deleted_at.has_value();
      if (!service) return {};
      SLIPWAY_ASSIGN(replicas, list_replicas(reader, service_, true));
      return {};
    }));
    std::vector<http::Event> events;
    bool all_ended = true;
    for (const Replica& replica : replicas) {
      all_ended = all_ended && replica.state == ReplicaState::kEnded;
      if (!replica.run) continue;
      SLIPWAY_TRY(add(replica, events));
    }
    ended_ = gone && all_ended && events.empty();
    return events;
  }
  bool ended() const override { return ended_; }
  std::vector<std::string> topics() const override { return {service_topic(service_)}; }

 private:
  // A line that has not ended yet waits for its end, unless it is very long or its replica has ended.
  Status add(const Replica& replica, std::vector<http::Event>& events) {
    uint64_t& offset = offsets_[replica.number];
    uint64_t size = 0;
    SLIPWAY_ASSIGN(std::string bytes, read_piece(logs_, *replica.run, offset, kBytesAtOnce, &size));
    const size_t end = bytes.rfind('\n');
    const bool take_all = replica.state == ReplicaState::kEnded || bytes.size() == kBytesAtOnce;
    if (end != std::string::npos)
      bytes.resize(end + 1);
    else if (!take_all)
      return {};
    if (bytes.empty()) return {};
    offset += bytes.size();
    const json::object data{{"replica", replica.number},
                            {"run", replica.run->str()},
                            {"version", replica.revision},
                            {"text", to_valid_utf8(bytes)}};
    std::string id;
    for (const auto& [number, at] : offsets_) id += fmt::format("{}{}={}", id.empty() ? "" : ",", number, at);
    events.push_back({.id = std::move(id), .name = "log", .data = json::serialize(data)});
    return {};
  }

  store::Database& database_;
  const runs::LogStore& logs_;
  const int64_t service_;
  std::map<int64_t, uint64_t> offsets_;
  bool ended_ = false;
};

}  // namespace

Result<std::string> all_logs(store::Database& database, const runs::LogStore& logs, const Service& service,
                             uint64_t bytes) {
  std::vector<Replica> replicas;
  SLIPWAY_TRY(database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(replicas, list_replicas(reader, service.seq, true));
    return {};
  }));
  std::string text;
  for (const Replica& replica : replicas) {
    if (!replica.run) continue;
    uint64_t size = 0;
    SLIPWAY_ASSIGN(std::string piece, read_piece(logs, *replica.run, 0, 0, &size));
    const uint64_t from = size > bytes ? size - bytes : 0;
    SLIPWAY_ASSIGN(piece, read_piece(logs, *replica.run, from, bytes, &size));
    text += fmt::format("== replica {}, version {}, {} (run {}) ==\n", replica.number, replica.revision,
                        to_text(replica.state), *replica.run);
    text += to_valid_utf8(piece);
    if (!text.ends_with('\n')) text += '\n';
  }
  return text;
}

std::shared_ptr<http::EventSource> log_stream(store::Database& database, const runs::LogStore& logs,
                                              const Service& service, const std::string& position) {
  return std::make_shared<ServiceLogStream>(database, logs, service, position);
}

}  // namespace slipway::services
