#include "roles/slurm_options.h"

#include "base/file.h"
#include "compute/cluster_store.h"
#include "data/credentials.h"
#include "routes/services.h"
#include "runs/allocation_table.h"

namespace slipway::roles {

compute::SlurmOptions slurm_options(store::Database& database, const std::filesystem::path& home,
                                    const Clock& clock, const std::string& server_url,
                                    const std::string& certificate_file) {
  compute::SlurmOptions options;
  options.open_token = [&database, home](const compute::ClusterKey& cluster) -> Result<Secret> {
    std::string sealed;
    SLIPWAY_TRY(database.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(sealed, compute::sealed_cluster_token(reader, cluster));
      return {};
    }));
    if (sealed.empty()) return Secret();
    return data::Seal(home / "secrets.key").open(sealed, routes::cluster_seal(cluster));
  };
  options.make_node_tokens = [&database, &clock](
                                 const compute::ClusterKey& cluster,
                                 const compute::AllocationRequest& request) -> Result<std::vector<Secret>> {
    std::vector<Secret> tokens;
    SLIPWAY_TRY(database.write([&](store::Writer& writer) -> Status {
      SLIPWAY_ASSIGN(tokens, runs::renew_node_tokens(writer, cluster.workspace, request, clock.now()));
      return {};
    }));
    return tokens;
  };
  options.server_url = server_url;
  if (!certificate_file.empty())
    if (auto certificate = read_file(certificate_file, 1 << 20))
      options.ca_certificate = std::move(*certificate);
  return options;
}

}  // namespace slipway::roles
