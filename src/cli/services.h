// The commands on services, and what they share.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/session.h"

namespace slipway::cli {

std::string service_path(const Session& session, const std::string& service);
// The address that clients use: on the server's own port.
std::string service_url(const Session& session, const json::object& service);
void print_service(Context& context, const Session& session, const json::object& service);

// Until the newest version serves; the service as it then is. kRunFailed when it cannot be loaded.
Result<json::object> wait_for_service(Context& context, Session& session, const std::string& name);

void add_service_changes(Command service, Context& context);  // update, scale, delete
void add_service_use(Command service, Context& context);      // test, keys, regen-key, token, logs

}  // namespace slipway::cli
