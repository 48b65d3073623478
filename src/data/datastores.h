// The datastores of a workspace: its own two, which are always there, and those that were added.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "blobs/blob_store.h"
#include "data/credentials.h"
#include "data/datastore.h"
#include "data/resolve.h"
#include "data/workspace_datastore.h"
#include "store/database.h"

namespace slipway::data {

// The workspace's own, under the names that Azure ML gives them. The first is the default until another is
// chosen.
constexpr std::string_view kOwnStore = "workspaceblobstore";
constexpr std::string_view kOwnFileStore = "workspacefilestore";
// Stands for the default one, wherever a datastore is named.
constexpr std::string_view kDefaultAlias = "default";

struct DatastoreSpec {
  std::string name;
  SourceKind kind = SourceKind::kWorkspace;
  std::string location;  // a folder's absolute path or an address; empty for the workspace's own
  std::string description;
  bool has_credentials = false;
  bool is_default = false;
  Timestamp created_at = {};  // 0 for the workspace's own
};

// Never holds a credential.
json::object to_json(const DatastoreSpec& spec);

struct NewDatastore {
  std::string name;
  SourceKind kind = SourceKind::kFolder;
  std::string location;
  std::string description;
  Secret credentials;  // as parse_credentials reads them; empty: none
};
Result<NewDatastore> new_datastore_from_json(const json::object& object);

// How a node gets at a source by itself.
struct SourceAccess {
  Source source;
  std::string location;  // a folder's path, or the address that keys lie below
  SecretHeaders headers;
};
// With its secrets: for the answer to an agent alone.
json::object to_json(const SourceAccess& access);

// `name` may be the alias. kNotFound names those that are there.
Result<DatastoreSpec> find_datastore(store::Reader& reader, const WorkspaceName& workspace,
                                     const std::string& name);

// Thread-safe.
class Datastores {
 public:
  // All outlive it.
  Datastores(store::Database& database, blobs::BlobStore& blobs, const Clock& clock, Seal seal)
      : database_(database), blobs_(blobs), clock_(clock), seal_(std::move(seal)) {}

  // Looks whether the folder is there, and whether the address can be one. kConflict when the name is taken.
  Result<DatastoreSpec> add(const WorkspaceName& workspace, const NewDatastore& made);
  Result<std::vector<DatastoreSpec>> list(const WorkspaceName& workspace);
  // `name` may be the alias. kNotFound names those that are there.
  Result<DatastoreSpec> find(const WorkspaceName& workspace, const std::string& name);
  // kConflict for the workspace's own and for the default one. What refers to it stays, and says so when
  // used.
  Status remove(const WorkspaceName& workspace, const std::string& name);
  Status set_default(const WorkspaceName& workspace, const std::string& name);

  Result<OpenDatastore> open(const WorkspaceName& workspace, const std::string& name);
  // One of the workspace's own two.
  WorkspaceDatastore own(const WorkspaceName& workspace, const std::string& name) {
    return WorkspaceDatastore(database_, blobs_, clock_, workspace, name);
  }
  Result<SourceAccess> access(const WorkspaceName& workspace, const Source& source);

 private:
  Result<SecretHeaders> headers_of(const WorkspaceName& workspace, const std::string& name);

  store::Database& database_;
  blobs::BlobStore& blobs_;
  const Clock& clock_;
  const Seal seal_;
};

}  // namespace slipway::data
