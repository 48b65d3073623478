// Who gives way to whom.
#include "store/migration_steps.h"

namespace slipway::store {

const std::string_view kPriorityStep = R"sql(
-- preemptions: attempts that ended by giving way. gives_way_to: the run that the present one was told to end for.
-- waiting_since: as ageing counts; none: since its submission.
ALTER TABLE runs ADD COLUMN preemptions BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN gives_way_to TEXT;
ALTER TABLE runs ADD COLUMN waiting_since BIGINT;
)sql";

}  // namespace slipway::store
