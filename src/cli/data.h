// The commands on datasets, and what they share.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/session.h"

namespace slipway::cli {

std::string data_path(const Session& session, const std::string& dataset);
void print_dataset(Context& context, const json::object& dataset);

void add_data_create(Command data, Context& context);   // create, split
void add_data_preview(Command data, Context& context);  // preview, files, diff

}  // namespace slipway::cli
