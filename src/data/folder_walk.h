// One page of the files below a folder, in the order of their paths.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "data/datastore.h"

namespace slipway::data {

// Opens `relative` beneath the folder, following links that stay inside. kNotFound; kPermissionDenied;
// kInvalidArgument for a path that is not clean and for links that leave or loop. Names the path.
Result<UniqueFd> open_inside(int root_fd, const std::string& relative, int flags);

// Size and tag from what the kernel says.
Object object_of(std::string path, const struct stat& status);

// Folders that lie more than 100 levels deep are kTooLarge; one that cannot be read is kPermissionDenied.
Result<Page> walk_page(int root_fd, const ListRequest& request);

}  // namespace slipway::data
