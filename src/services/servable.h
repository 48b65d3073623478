// Whether models can be served as asked, and what that takes.
#pragma once

#include <vector>

#include "services/front_door.h"
#include "services/service.h"
#include "store/database.h"

namespace slipway::services {

// Pins the models to versions, and chooses environment and resources where none are named. kInvalidArgument
// says what a model that cannot be served as it is needs.
Status make_servable(store::Reader& reader, const WorkspaceName& workspace, ReplicaSpec& spec,
                     bool resources_named);

// Keeps the models of what is served or being loaded from being deleted, and no others.
Status hold_models(store::Writer& writer, const Service& service, const std::vector<Revision>& revisions,
                   Timestamp now);
Status release_models(store::Writer& writer, const Service& service);

// A service as the API shows it.
json::object shown(const Service& service, const std::vector<Revision>& revisions,
                   const std::vector<Replica>& replicas, const FrontDoor& door);

}  // namespace slipway::services
