// Services in the store. Every SQL statement about these tables is in service_table.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/service.h"
#include "store/database.h"

namespace slipway::services {

// kNotFound names those that are there.
Result<Service> load_service(store::Reader& reader, const WorkspaceName& workspace, const std::string& name);
Result<Service> load_service(store::Reader& reader, int64_t seq);
// The one of that name, whatever its workspace.
Result<std::optional<Service>> find_service(store::Reader& reader, const std::string& name);
// By name, those after `after`.
Result<std::vector<Service>> list_services(store::Reader& reader, const WorkspaceName& workspace,
                                           const std::string& after, int64_t limit);
// All of the installation, the deleted ones too that are not gone yet.
Result<std::vector<Service>> all_services(store::Reader& reader);

// Sets `service.seq`.
Status insert_service(store::Writer& writer, Service& service);
// Writes back all that can change, with the event that changed it. The service's state is decided here, by
// the table; the reason replaces the service's where the state moved or the event tells of trouble.
Status record(store::Writer& writer, Service& service, EventKind kind, const std::string& reason,
              Timestamp now, const std::string& log = "");
Status store_port(store::Writer& writer, const Service& service);
Status delete_service_rows(store::Writer& writer, int64_t service);

Status insert_revision(store::Writer& writer, const Revision& revision);
Status update_revision(store::Writer& writer, const Revision& revision);
Result<std::vector<Revision>> list_revisions(store::Reader& reader, int64_t service);

// Sets `replica.number`.
Status insert_replica(store::Writer& writer, Replica& replica);
Status update_replica(store::Writer& writer, const Replica& replica);
Result<std::optional<Replica>> find_replica(store::Reader& reader, int64_t number);
// Oldest first. With `ended` those too that have ended.
Result<std::vector<Replica>> list_replicas(store::Reader& reader, int64_t service, bool ended);
Status delete_replica(store::Writer& writer, int64_t number);

// Oldest first, those after `after`.
Result<std::vector<ServiceEvent>> list_events(store::Reader& reader, int64_t service, int64_t after,
                                              int64_t limit);

}  // namespace slipway::services
