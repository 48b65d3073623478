#include "services/service_table.h"

#include <fmt/format.h>

namespace slipway::services {
namespace {

constexpr std::string_view kServiceColumns =
    "seq, workspace, name, description, tags, auth, scaling, wanted, state, reason, revision, last_revision, "
    "port, primary_key, secondary_key, created_by, created_at, changed_at, deleted_at";
constexpr std::string_view kReplicaColumns =
    "number, service, revision, run, state, endpoint, sealed_key, reason, created_at, ready_at, ended_at";
constexpr int64_t kMostEvents = 1000;  // of one service; the oldest go

std::optional<Timestamp> maybe_time(const store::Row& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.time(column);
}

Result<Service> service_of(const store::Row& row) {
  Service service;
  service.seq = row.integer(0);
  service.workspace = row.id<WorkspaceName>(1);
  service.name = row.text(2);
  service.description = row.text(3);
  SLIPWAY_ASSIGN(const json::object tags, parse_json_object(row.text(4), "a service's tags"));
  for (const auto& tag : tags) service.tags.emplace(tag.key(), tag.value().as_string());
  SLIPWAY_ASSIGN(service.auth, auth_from_text(row.text(5)));
  SLIPWAY_ASSIGN(const json::object scaling, parse_json_object(row.text(6), "a service's bounds"));
  SLIPWAY_ASSIGN(service.scaling, scaling_from_json(scaling));
  service.wanted = static_cast<int>(row.integer(7));
  service.state = service_state_from_text(row.text(8)).value_or(ServiceState::kFailed);
  service.reason = row.text(9);
  service.revision = static_cast<int>(row.integer(10));
  service.last_revision = static_cast<int>(row.integer(11));
  service.port = static_cast<uint16_t>(row.integer(12));
  service.primary_key = row.text(13);
  service.secondary_key = row.text(14);
  service.created_by = row.text(15);
  service.created_at = row.time(16);
  service.changed_at = row.time(17);
  service.deleted_at = maybe_time(row, 18);
  return service;
}

Replica replica_of(const store::Row& row) {
  Replica replica;
  replica.number = row.integer(0);
  replica.service = row.integer(1);
  replica.revision = static_cast<int>(row.integer(2));
  if (!row.is_null(3)) replica.run = row.id<RunId>(3);
  replica.state = replica_state_from_text(row.text(4)).value_or(ReplicaState::kEnded);
  replica.endpoint = row.text(5);
  replica.key = row.text(6);
  replica.reason = row.text(7);
  replica.created_at = row.time(8);
  replica.ready_at = maybe_time(row, 9);
  replica.ended_at = maybe_time(row, 10);
  return replica;
}

// The rows of a query, each read by `read`, which may fail.
template <class T, class Read>
Result<std::vector<T>> rows_of(store::Reader& reader, std::string_view sql, const store::Values& values,
                               const Read& read) {
  std::vector<T> found;
  Status good;
  SLIPWAY_TRY(reader.query(sql, values, [&](const store::Row& row) {
    if (!good) return;
    Result<T> one = read(row);
    if (one)
      found.push_back(std::move(*one));
    else
      good = fail(std::move(one).error());
  }));
  if (!good) return fail(std::move(good).error());
  return found;
}

Result<std::vector<Service>> services_where(store::Reader& reader, std::string_view condition,
                                            const store::Values& values) {
  return rows_of<Service>(reader, fmt::format("SELECT {} FROM services WHERE {}", kServiceColumns, condition),
                          values, service_of);
}

// What a person looking at the service should know of.
bool tells_of_trouble(EventKind kind) {
  return kind == EventKind::kReplicaEnded || kind == EventKind::kUpdateFailed ||
         kind == EventKind::kNoneReady;
}

Result<int64_t> last_number(store::Writer& writer, std::string_view sql, const store::Values& values) {
  int64_t number = 0;
  SLIPWAY_TRY(writer.query(sql, values, [&](const store::Row& row) { number = row.integer(0); }));
  return number;
}

}  // namespace

Result<Service> load_service(store::Reader& reader, const WorkspaceName& workspace, const std::string& name) {
  SLIPWAY_ASSIGN(auto found, services_where(reader, "workspace = ? AND name = ? AND deleted_at IS NULL",
                                            {workspace, name}));
  if (!found.empty()) return std::move(found.front());
  SLIPWAY_ASSIGN(const auto others, list_services(reader, workspace, "", 10));
  std::string names;
  for (const Service& other : others) names += (names.empty() ? "" : ", ") + other.name;
  return fail(ErrorCode::kNotFound, fmt::format("there is no service '{}'", name),
              names.empty() ? "create it: slipway deploy NAME --model MODEL" : "there are: " + names);
}

Result<Service> load_service(store::Reader& reader, int64_t seq) {
  SLIPWAY_ASSIGN(auto found, services_where(reader, "seq = ?", {seq}));
  if (found.empty()) return fail(ErrorCode::kNotFound, "the service is gone");
  return std::move(found.front());
}

Result<std::optional<Service>> find_service(store::Reader& reader, const std::string& name) {
  SLIPWAY_ASSIGN(auto found, services_where(reader, "name = ? AND deleted_at IS NULL", {name}));
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

Result<std::vector<Service>> list_services(store::Reader& reader, const WorkspaceName& workspace,
                                           const std::string& after, int64_t limit) {
  return services_where(reader, "workspace = ? AND name > ? AND deleted_at IS NULL ORDER BY name LIMIT ?",
                        {workspace, after, limit});
}

Result<std::vector<Service>> all_services(store::Reader& reader) {
  return services_where(reader, "seq > ? ORDER BY seq", {0});
}

Status insert_service(store::Writer& writer, Service& service) {
  SLIPWAY_TRY(writer.run(
      "INSERT INTO services (workspace, name, auth, scaling, wanted, state, created_by, created_at, "
      "changed_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      {service.workspace, service.name, to_text(service.auth), json::serialize(to_json(service.scaling)),
       service.wanted, to_text(service.state), service.created_by, service.created_at, service.changed_at}));
  SLIPWAY_ASSIGN(service.seq,
                 last_number(writer, "SELECT MAX(seq) FROM services WHERE name = ?", {service.name}));
  return {};
}

Status record(store::Writer& writer, Service& service, EventKind kind, const std::string& reason,
              Timestamp now, const std::string& log) {
  const ServiceState next = decide(service.state, kind);
  if (next != service.state || tells_of_trouble(kind)) service.reason = tells_of_trouble(kind) ? reason : "";
  if (kind == EventKind::kUpdated || kind == EventKind::kSwitched) service.reason.clear();
  service.state = next;
  service.changed_at = now;
  SLIPWAY_TRY(writer.run(
      "UPDATE services SET description = ?, tags = ?, auth = ?, scaling = ?, wanted = ?, state = ?, reason = "
      "?, "
      "revision = ?, last_revision = ?, primary_key = ?, secondary_key = ?, changed_at = ?, deleted_at = ?, "
      "event_count = event_count + 1 WHERE seq = ?",
      {service.description, json::serialize(slipway::to_json(service.tags)), to_text(service.auth),
       json::serialize(to_json(service.scaling)), service.wanted, to_text(service.state), service.reason,
       service.revision, service.last_revision, service.primary_key, service.secondary_key, now,
       service.deleted_at, service.seq}));
  SLIPWAY_ASSIGN(const int64_t seq,
                 last_number(writer, "SELECT event_count FROM services WHERE seq = ?", {service.seq}));
  SLIPWAY_TRY(
      writer.run("INSERT INTO service_events (service, seq, time, kind, state, reason, log) VALUES (?, ?, ?, "
                 "?, ?, ?, ?)",
                 {service.seq, seq, now, to_text(kind), to_text(service.state), reason, log}));
  if (seq <= kMostEvents) return {};
  return writer.run("DELETE FROM service_events WHERE service = ? AND seq = ?",
                    {service.seq, seq - kMostEvents});
}

Status store_port(store::Writer& writer, const Service& service) {
  return writer.run("UPDATE services SET port = ? WHERE seq = ?", {service.port, service.seq});
}

Status delete_service_rows(store::Writer& writer, int64_t service) {
  return writer.run("DELETE FROM services WHERE seq = ?", {service});
}

Status insert_revision(store::Writer& writer, const Revision& revision) {
  return writer.run(
      "INSERT INTO service_revisions (service, number, spec, state, reason, created_at) VALUES (?, ?, ?, ?, "
      "?, ?)",
      {revision.service, revision.number, json::serialize(to_json(revision.spec)), to_text(revision.state),
       revision.reason, revision.created_at});
}

Status update_revision(store::Writer& writer, const Revision& revision) {
  return writer.run("UPDATE service_revisions SET state = ?, reason = ? WHERE service = ? AND number = ?",
                    {to_text(revision.state), revision.reason, revision.service, revision.number});
}

Result<std::vector<Revision>> list_revisions(store::Reader& reader, int64_t service) {
  return rows_of<Revision>(
      reader,
      "SELECT service, number, spec, state, reason, created_at FROM service_revisions WHERE service = ? "
      "ORDER BY number",
      {service}, [](const store::Row& row) -> Result<Revision> {
        Revision revision;
        revision.service = row.integer(0);
        revision.number = static_cast<int>(row.integer(1));
        SLIPWAY_ASSIGN(const json::object spec, parse_json_object(row.text(2), "a version of a service"));
        SLIPWAY_ASSIGN(revision.spec, replica_spec_from_json(spec));
        revision.state = revision_state_from_text(row.text(3)).value_or(RevisionState::kFailed);
        revision.reason = row.text(4);
        revision.created_at = row.time(5);
        return revision;
      });
}

Status insert_replica(store::Writer& writer, Replica& replica) {
  SLIPWAY_TRY(writer.run(
      "INSERT INTO service_replicas (service, revision, state, sealed_key, created_at) "
      "VALUES (?, ?, ?, ?, ?)",
      {replica.service, replica.revision, to_text(replica.state), replica.key, replica.created_at}));
  SLIPWAY_ASSIGN(
      replica.number,
      last_number(writer, "SELECT MAX(number) FROM service_replicas WHERE service = ?", {replica.service}));
  return {};
}

Status update_replica(store::Writer& writer, const Replica& replica) {
  return writer.run(
      "UPDATE service_replicas SET run = ?, state = ?, endpoint = ?, reason = ?, ready_at = ?, ended_at = ? "
      "WHERE number = ?",
      {replica.run, to_text(replica.state), replica.endpoint, replica.reason, replica.ready_at,
       replica.ended_at, replica.number});
}

Result<std::optional<Replica>> find_replica(store::Reader& reader, int64_t number) {
  SLIPWAY_ASSIGN(auto found,
                 rows_of<Replica>(
                     reader, fmt::format("SELECT {} FROM service_replicas WHERE number = ?", kReplicaColumns),
                     {number}, [](const store::Row& row) -> Result<Replica> { return replica_of(row); }));
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

Result<std::vector<Replica>> list_replicas(store::Reader& reader, int64_t service, bool ended) {
  return rows_of<Replica>(reader,
                          fmt::format("SELECT {} FROM service_replicas WHERE service = ? {} ORDER BY number",
                                      kReplicaColumns, ended ? "" : "AND state <> 'ended'"),
                          {service},
                          [](const store::Row& row) -> Result<Replica> { return replica_of(row); });
}

Status delete_replica(store::Writer& writer, int64_t number) {
  return writer.run("DELETE FROM service_replicas WHERE number = ?", {number});
}

Result<std::vector<ServiceEvent>> list_events(store::Reader& reader, int64_t service, int64_t after,
                                              int64_t limit) {
  return rows_of<ServiceEvent>(
      reader,
      "SELECT seq, time, kind, state, reason, log FROM service_events WHERE service = ? AND seq > ? "
      "ORDER BY seq LIMIT ?",
      {service, after, limit}, [](const store::Row& row) -> Result<ServiceEvent> {
        return ServiceEvent{.seq = row.integer(0),
                            .time = row.time(1),
                            .kind = std::string(row.text(2)),
                            .state = service_state_from_text(row.text(3)).value_or(ServiceState::kFailed),
                            .reason = std::string(row.text(4)),
                            .log = std::string(row.text(5))};
      });
}

}  // namespace slipway::services
