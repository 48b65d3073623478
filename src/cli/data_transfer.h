// Bringing a dataset's version to this machine: downloaded or mounted.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/session.h"
#include "data/fetch_sources.h"

namespace slipway::cli {

void add_data_download(Command data, Context& context);
void add_data_mount(Command data, Context& context);

// A version as its manifest describes it.
struct FoundVersion {
  std::string dataset;   // "mnist:2"
  std::string manifest;  // its text
  data::Manifest files;
  std::vector<data::SourceAccess> sources;  // plain addresses are read from here, the rest through the server
  std::string content;                      // see data::FetchableVersion::Origin
  data::ServerContent server;
};
Result<FoundVersion> find_version(Session& session, const std::string& reference);

}  // namespace slipway::cli
