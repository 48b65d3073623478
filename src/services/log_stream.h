// The logs of all replicas of a service, as one.
#pragma once

#include <memory>
#include <string>

#include "http/message.h"
#include "runs/log_store.h"
#include "services/service.h"
#include "store/database.h"

namespace slipway::services {

// Each replica's last `bytes` under a line that names it, oldest replica first.
Result<std::string> all_logs(store::Database& database, const runs::LogStore& logs, const Service& service,
                             uint64_t bytes);

// "log" events: {"replica", "run", "version", "text"}, whole lines; the id is the position in all of them.
// Ends when the service has been deleted and all is sent.
std::shared_ptr<http::EventSource> log_stream(store::Database& database, const runs::LogStore& logs,
                                              const Service& service, const std::string& position);

}  // namespace slipway::services
