// Files that clients give to a run, beside those its nodes keep from ./outputs.
#pragma once

#include <vector>

#include "blobs/blob_store.h"
#include "protocol/node.h"
#include "runs/run.h"
#include "store/database.h"

namespace slipway::runs {

// Adds files whose content is stored in the run's workspace; all or none. The same content again changes
// nothing. kConflict when content is missing, or when a name has other content and `replace` is not set.
Status add_run_files(store::Writer& writer, blobs::BlobStore& blobs, const Run& run,
                     const std::vector<OutputFile>& files, bool replace);

}  // namespace slipway::runs
