// Turns a manifest back into files.
#pragma once

#include <filesystem>
#include <functional>

#include "base/fd.h"
#include "base/result.h"
#include "snapshot/manifest.h"

namespace slipway::snapshot {

// Gives the content of an entry as an open file, read from its beginning. It is trusted to match the digest
// (the blob store and the node's cache see to that); its size is checked.
using OpenContent = std::function<Result<UniqueFd>(const Entry&)>;

// Creates every file of the manifest below `folder`, which exists, with its mode, whatever the umask says;
// folders get 0755. Nothing outside `folder` is touched, even where links lie in it: they are not followed. A
// file that is already there is replaced, so that an interrupted call may be repeated. Not synced.
Status write_tree(const Manifest& manifest, const std::filesystem::path& folder,
                  const OpenContent& open_content);

}  // namespace slipway::snapshot
