// From a dataset's definition to its manifest: finds the files, applies the operations, lays them out and
// makes sure of their content.
//
// Layout. A definition of one path strips what it has in common: a file lies at the top under its own name, a
// folder's files lie as they do in it, a pattern's as below the folder before the first wildcard. With
// several paths each keeps its whole path: DATASTORE/PATH, or HOST/PATH for addresses.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "data/datastore.h"
#include "data/definition.h"
#include "data/manifest.h"

namespace slipway::data {

struct OpenDatastore {
  std::string name;                  // its own: "default" has become what it stands for
  std::shared_ptr<Datastore> store;  // shared with whoever keeps it open for others
};
using OpenByName = std::function<Result<OpenDatastore>(const std::string& name)>;

// kNotFound, naming the path, for one that yields no file; kInvalidArgument, naming the file, for one that
// cannot be used (a link that leaves, no permission), and for operations that leave nothing; kConflict for a
// file that keeps changing. Uses `threads` threads; 0: a few for each core.
Result<Manifest> resolve(const Definition& definition, const OpenByName& open, unsigned threads = 0);

// The files that the operations leave of a manifest, for a dataset made from another's version.
Result<Manifest> narrow(const Manifest& manifest, const std::vector<Operation>& operations);

}  // namespace slipway::data
