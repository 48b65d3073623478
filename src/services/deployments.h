// What users do with services: create, change, look at, delete; the controller makes it so.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "data/credentials.h"
#include "runs/submission.h"
#include "services/controller.h"
#include "services/service.h"
#include "store/database.h"
#include "store/idempotency.h"

namespace slipway::services {

struct Deployed {
  Service service;
  bool created = false;  // false: it was there and has been changed, or the request is a repetition
};

enum class WhichKey { kPrimary, kSecondary };

// Thread-safe.
class Deployments {
 public:
  // All outlive it.
  Deployments(store::Database& database, runs::Orchestrator& orchestrator, runs::Submissions& submissions,
              Controller& controller, FrontDoor& door, const Clock& clock, const data::Seal& seal)
      : database_(database),
        orchestrator_(orchestrator),
        submissions_(submissions),
        controller_(controller),
        door_(door),
        clock_(clock),
        seal_(seal) {}

  // `body`: {"name", "models", ...} as spec.h reads it, and "overwrite". kConflict when the name is taken and
  // "overwrite" is not true; kInvalidArgument for what cannot be served, with what it needs.
  Result<Deployed> deploy(const WorkspaceName& workspace, const json::object& body,
                          const store::RequestKey& request, const std::string& caller);
  // Only what `body` names changes. What concerns the replicas makes a new version, loaded beside the old
  // one.
  Result<Service> change(const WorkspaceName& workspace, const std::string& name, const json::object& body,
                         const std::string& caller);
  Status remove(const WorkspaceName& workspace, const std::string& name, const std::string& caller);

  // Before the workspace itself is deleted. kConflict while it has services.
  Status clear(const WorkspaceName& workspace) { return controller_.clear(workspace); }

  struct Keys {
    Secret primary;
    Secret secondary;
  };
  Result<Keys> keys(const WorkspaceName& workspace, const std::string& name);
  // A new key from now on: the old one is refused.
  Result<Keys> renew_key(const WorkspaceName& workspace, const std::string& name, WhichKey which,
                         const std::string& caller);
  struct Token {
    Secret text;
    Timestamp expires;
  };
  // For a service that asks for tokens. kConflict for another.
  Result<Token> token(const WorkspaceName& workspace, const std::string& name, Duration lifetime);

  // All that is shown of it.
  Result<json::object> describe(const Service& service);
  Result<Service> find(const WorkspaceName& workspace, const std::string& name);

 private:
  // Makes the services' own cluster where the spec means it and the workspace has none.
  Status provide_cluster(const WorkspaceName& workspace, const ReplicaSpec& spec) const;
  // Writes into the spec which versions it means. kNotFound, kInvalidArgument.
  Status resolve(const Service& service, ServiceSpec& spec) const;
  Result<ServiceSpec> present_spec(store::Reader& reader, const Service& service) const;
  Status add_revision(store::Writer& writer, Service& service, const ReplicaSpec& spec) const;
  Status change_within(store::Writer& writer, Service& service, const ServiceSpec& spec,
                       const ReplicaSpec& before, const std::string& caller) const;

  store::Database& database_;
  runs::Orchestrator& orchestrator_;
  runs::Submissions& submissions_;
  Controller& controller_;
  FrontDoor& door_;
  const Clock& clock_;
  const data::Seal& seal_;
};

}  // namespace slipway::services
