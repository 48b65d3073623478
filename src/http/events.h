// Event streams as bytes (text/event-stream, the WHATWG's format).
#pragma once

#include <string>

#include "http/message.h"

namespace slipway::http {

// Appends one event. Line ends within the data become several data lines; they have no place in id or name
// and are left out there.
void append_event(std::string& out, const Event& event);

}  // namespace slipway::http
