// What the nodes of a run with several processes tell each other before they start, and machines that join a
// cluster.
#include "store/migration_steps.h"

namespace slipway::store {

const std::string_view kLaunchersStep = R"sql(
-- offer: where the node is reached and the ports it holds, as JSON. gathered: all nodes of the attempt have
-- made theirs. launch_secret: of the attempt, sealed; in the row of rank 0.
ALTER TABLE attempt_nodes ADD COLUMN offer TEXT;
ALTER TABLE attempt_nodes ADD COLUMN offered_at BIGINT;
ALTER TABLE attempt_nodes ADD COLUMN gathered BIGINT NOT NULL DEFAULT 0;
ALTER TABLE attempt_nodes ADD COLUMN launch_secret TEXT;

-- joined: it came by itself and is not the engine's.
ALTER TABLE nodes ADD COLUMN joined BIGINT NOT NULL DEFAULT 0;
)sql";

}  // namespace slipway::store
